/** Creates the HTTP server, or the HTTPS server where the configuration has a certificate. */

import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http'
import type { TlsPaths, TlsWatchOptions } from './tls-files.ts'

export interface HttpServer {
  readonly server: Server
  /** Stops watching the files of the certificate. */
  readonly close: () => void
}

/** @throws Error for an unusable certificate or key */
export async function createHttpServer (
  options: ServerOptions,
  handle: RequestListener,
  tls: (TlsPaths & TlsWatchOptions) | undefined
): Promise<HttpServer> {
  if (tls === undefined) return { server: createServer(options, handle), close: () => undefined }
  const [https, { followTlsFiles, readTlsFiles }] = await Promise.all([
    import('node:https'),
    import('./tls-files.ts')
  ])
  const server = https.createServer(
    {
      ...options,
      ...readTlsFiles(tls),
      // The time limit for headers starts after the handshake, for which Node.js itself allows 2 minutes.
      ...options.headersTimeout !== undefined && { handshakeTimeout: options.headersTimeout }
    },
    handle
  )
  // Node.js reports these as `clientError`, but no answer can be sent before the handshake.
  server.on('tlsClientError', (_error, socket) => { socket.destroy() })
  return { server, close: followTlsFiles(server, tls, tls) }
}
