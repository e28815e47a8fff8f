/**
 * Returns the scheme of the URL that a client requested, as the proxy says where one is trusted.
 *
 * @param encrypted true where the connection to the gateway is one of TLS
 * @param forwarded `X-Forwarded-Proto`: of several entries the first is what the client used
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
