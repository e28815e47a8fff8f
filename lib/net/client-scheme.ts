/**
 * Returns the scheme of the URL that a client requested, as reported by the proxy where one is trusted.
 *
 * @param encrypted true if the connection to the gateway uses TLS
 * @param forwarded `X-Forwarded-Proto`; the first of several entries is what the client used
 */
export function clientScheme (
  encrypted: boolean,
  forwarded: string | string[] | undefined,
  trustProxy: boolean
): 'http' | 'https' {
  if (encrypted) return 'https'
  const [first] = trustProxy ? String(forwarded ?? '').split(',', 1) : []
  return first?.trim() === 'https' ? 'https' : 'http'
}
