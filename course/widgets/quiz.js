// Quiz: questions with radio buttons; an answer is judged only when Check is pressed.

export default course({
  traits: ["answers", "checked", "tries"],

  numbers(get) {
    const right = get("questions").filter((q, i) => get("checked")[i] && get("answers")[i] === q.correct);
    return { right: right.length, total: get("questions").length, tries: get("tries").reduce((a, b) => a + b, 0) };
  },

  picture(f) {
    const { t, id } = f, put = (trait, i, v) => f.get(trait).map((old, j) => (j === i ? v : old));
    const blocks = f.get("questions").map((q, i) => {
      const options = q.choices.map((choice, c) => {
        const input = h("input", { type: "radio", name: `${id}-q${i}`, id: `${id}-q${i}-${c}`, value: String(c), "data-trait": `answer-${i}` });
        input.onchange = () => f.set({ answers: put("answers", i, c), checked: put("checked", i, false) });
        return h("label", { class: "cw-option", for: input.id }, input, h("span", { text: choice }));
      });
      const comment = h("p", { class: "cw-comment", role: "status" });
      const check = h("button", { type: "button", "data-act": `check-${i}`, text: t("check") });
      let asked = false;
      check.onclick = () => {
        asked = f.get("answers")[i] < 0;
        if (asked) say(comment, t("choose"));
        else f.set({ checked: put("checked", i, true), tries: put("tries", i, f.get("tries")[i] + 1) });
      };
      f.picture.append(h("fieldset", { class: "cw-question" }, h("legend", { text: `${i + 1}. ${q.question}` }), ...options, check, comment));
      return () => {
        const answer = f.get("answers")[i], checked = f.get("checked")[i], right = answer === q.correct;
        options.forEach((option, c) => (option.firstChild.checked = c === answer));
        const text = checked ? `${t(right ? "right" : "wrong")} ${q.why[answer]}` : asked && answer < 0 ? t("choose") : "";
        say(comment, text);
        comment.dataset.is = checked ? (right ? "right" : "wrong") : "";
      };
    });
    return () => blocks.forEach((show) => show());
  },
});
