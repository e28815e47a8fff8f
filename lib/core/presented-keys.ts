/** Headers that may hold a key, in order of precedence. */
const keyHeaders = ['x-litellm-api-key', 'authorization', 'x-api-key', 'api-key', 'x-goog-api-key'] as const

/**
 * Returns the keys that a caller presents, the one that counts first. `Authorization` needs `Bearer` in front
 * of its key, where everything after the first space is the key; in `X-LiteLLM-API-Key` it may stand; the
 * others are a key alone.
 */
export function presentedKeys (headers: Readonly<Record<string, string | string[] | undefined>>): string[] {
  const keys: string[] = []
  for (const name of keyHeaders) {
    const value = headers[name]
    if (typeof value !== 'string') continue
    const isBearer = /^bearer /i.test(value)
    if (isBearer && (name === 'authorization' || name === 'x-litellm-api-key')) {
      keys.push(value.slice('bearer '.length))
    } else if (name !== 'authorization') keys.push(value)
  }
  return keys
}
