/**
 * Takes out of a provider's words what is nobody's business: keys and pieces of keys,
 * organisations, projects, teams, e-mail addresses.
 */
const secrets: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b(?:sk|pk|rk|hg|xai|gsk|fw|key|Bearer)[-_ ][\w*.-]{6,}/gi, '[redacted]'],
  [/\bAIza[\w-]{10,}/g, '[redacted]'],
  [/\b(?:org|proj|user|team|acct)[-_][\w-]{6,}/gi, '[redacted]'],
  [/\b(Team|API key ID|organization|project):?\s+[0-9a-f]{8}-[0-9a-f-]{27}\b/gi, '$1 [redacted]'],
  [/\b[\w.+-]+@[\w-]+\.[\w.-]+\b/g, '[redacted]']
]
const maxLength = 2000

export function scrub (text: string): string {
  let clean = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
  for (const [pattern, replacement] of secrets) clean = clean.replace(pattern, replacement)
  return clean
}
