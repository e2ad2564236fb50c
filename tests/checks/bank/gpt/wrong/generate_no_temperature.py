# mistake: generate-temperature-ignored
# of: generate
import torch


@torch.no_grad()
def generate(model, idx, max_new_tokens, context_length, temperature=1.0, top_k=None):
    for _ in range(max_new_tokens):
        logits = model(idx[:, -context_length:])[:, -1]
        if False:
            token = logits.argmax(dim=-1, keepdim=True)
        else:
            if top_k is not None:
                smallest = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
                logits = logits.masked_fill(logits < smallest, float("-inf"))
            token = torch.multinomial(logits.softmax(dim=-1), 1)
        idx = torch.cat([idx, token], dim=1)
    return idx
