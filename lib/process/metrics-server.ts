/** Serves `GET /metrics` for Prometheus, on a separate address. */

import { createServer } from 'node:http'
import { loggableError } from '../text/describe-error.ts'
import { allowedHosts } from '../http/request-checks.ts'
import { listen, type Address } from '../http/listen.ts'
import { printFamilies, type Family, type MetricsFormat } from '../telemetry/metric-families.ts'
import type { Log } from '../log/log.ts'

export interface MetricsServer {
  readonly address: Address
  readonly close: () => Promise<void>
}

/** @throws the system error if the address cannot be used */
export async function serveMetrics (
  at: Address,
  families: () => Family[] | Promise<Family[]>,
  log: Log
): Promise<MetricsServer> {
  const isAllowed = allowedHosts({ host: at.host, acceptedHosts: [] })
  const server = createServer(({ method, url, headers, headersDistinct }, response) => {
    if (!(headersDistinct['host'] ?? ['']).every(isAllowed)) {
      response.writeHead(421).end()
      return
    }
    if (method !== 'GET' || url?.split('?', 1)[0] !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    Promise.resolve()
      .then(families)
      .then(found => {
        const format = formatFor(headers.accept)
        response.writeHead(200, { 'content-type': mediaTypes[format] }).end(printFamilies(found, format))
      })
      .catch((error: unknown) => {
        log.error({ cause: loggableError(error) }, 'failed to render metrics')
        response.writeHead(500).end()
      })
  })
  const address = await listen(server, at)
  server.on('error', error =>
    log.error({ cause: loggableError(error) }, 'metrics server failed to accept a connection')
  )
  return {
    address,
    close: async () => await new Promise(resolve => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
}

const mediaTypes: Readonly<Record<MetricsFormat, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8'
}

/** Prometheus lists several formats, preferred ones first; a browser lists none of them. */
function formatFor (accept = ''): MetricsFormat {
  return accept.includes('application/openmetrics-text') ? 'openmetrics' : 'prometheus'
}
