/** Makes what hides in a text visible: what cannot be seen, and what turns the writing around. */

// Unicode: general categories, Default_Ignorable_Code_Point. Bidi_Control is among the formats (Cf).
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** A text with every character spelled out that would not be seen. Lines stay lines. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (sign, at: number) => {
    const code = sign.codePointAt(0) ?? 0;
    if (sign === "\n" || sign === "\t" || (sign === "\r" && text[at + 1] === "\n")) return sign;
    // Variation selectors, which choose how an emoji looks.
    if (code >= 0xfe00 && code <= 0xfe0f) return sign;
    // They join what is not ASCII: letters, emoji.
    const joins = code === 0x200c || code === 0x200d;
    return joins && isForeign(text[at - 1]) && isForeign(text[at + 1]) ? sign : spelled(code);
  });
}

function isForeign(sign: string | undefined): boolean {
  return sign !== undefined && sign > "\x7f";
}

function spelled(code: number): string {
  const hex = (digits: number): string => code.toString(16).padStart(digits, "0");
  if (code === 0x0d) return "\\r";
  if (code < 0x100) return `\\x${hex(2)}`;
  return code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`;
}

/** A text with what turns the writing around spelled out; what a script needs to be read stays. */
export function turned(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (sign) => spelled(sign.charCodeAt(0)));
}
