/**
 * Shows control characters, and others that are invisible or change how a line reads, as escapes. Names that
 * callers and members choose are printed on terminals and in mails, where such characters would move the
 * cursor, begin a line or hide what follows.
 */
export function printable (text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    character => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
  )
}
