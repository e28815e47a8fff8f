/**
 * Recognises texts that a server may take for the address of something to fetch.
 *
 * URL parsers disagree: some drop tabs, some trim, some read `\` as `/` and `0177.1` as a number. A text
 * therefore counts as an address if any of them could read one, and is accepted only in the one spelling that
 * all of them read alike.
 */

/** Characters that some parser drops, anywhere or at the beginning. */
const dropped = /[\p{Cc}\p{Cf}]/gu
const trimmed = /^\p{Z}+/u

/**
 * Returns true for a text that some parser reads as a URL of any scheme except `data:`, or as one without a
 * scheme.
 */
export function isWrittenAddress (text: string): boolean {
  const head = text.slice(0, maxSchemeLength)
  const kept = head.replace(dropped, '').replace(trimmed, '')
  const start =
    kept.length === head.length
      ? kept
      : text.replace(dropped, '').replace(trimmed, '').slice(0, maxSchemeLength)
  return /^[\\/]{2}/.test(start) || (/^[a-z][a-z0-9+.-]*:/i.test(start) && !/^data:/i.test(start))
}

const maxSchemeLength = 256

/** Returns true for a text that contains its own bytes: a `data:` URL, or bare base64. */
export function holdsBytes (text: string): boolean {
  if (/^data:/i.test(text)) return true
  if (isWrittenAddress(text) && !isLongBase64(text)) return false
  return isBase64(text)
}

/** Some programs break base64 in JSON into lines. */
function isBase64 (text: string): boolean {
  return /^[\w+/\r\n-]*={0,2}$/.test(text.trimEnd())
}

const maxHostLength = 255

/**
 * In base64, sound begins with `//`, like an address without a scheme. No host name is that long, and none
 * has these characters.
 */
function isLongBase64 (text: string): boolean {
  return text.length > maxHostLength && text.startsWith('//') && isBase64(text)
}

/**
 * Returns the URL of an http or https address that every parser reads alike: the host as sent, no user name,
 * and nothing that a parser drops.
 */
export function plainUrl (text: string): URL | undefined {
  const [, authority] = /^https?:\/\/([^\\/?#@%]+)(?:\/|$)/i.exec(text) ?? []
  if (authority === undefined || /[\p{Cc}\p{Cf}\p{Z}]/u.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  return authority.replace(/:\d*$/, '').toLowerCase() === url.hostname ? url : undefined
}
