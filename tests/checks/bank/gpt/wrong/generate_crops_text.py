# mistake: returns-the-crop
# of: generate
import torch


@torch.no_grad()
def generate(model, idx, max_new_tokens, context_length, temperature=1.0, top_k=None):
    for _ in range(max_new_tokens):
        idx = idx[:, -context_length:]
        logits = model(idx)[:, -1]
        if temperature == 0:
            token = logits.argmax(dim=-1, keepdim=True)
        else:
            logits = logits / temperature
            if top_k is not None:
                smallest = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
                logits = logits.masked_fill(logits < smallest, float("-inf"))
            token = torch.multinomial(logits.softmax(dim=-1), 1)
        idx = torch.cat([idx, token], dim=1)
    return idx
