/**
 * Serves the dashboard below `/dashboard/`. The page needs no key: its data comes from the admin API, which
 * needs a session.
 */

import type { Call } from '../lib/core/call.ts'
import type { Endpoint } from '../lib/core/endpoint.ts'
import type { PageFiles } from '../lib/dashboard/page-files.ts'
import { GatewayError } from '../lib/core/errors.ts'
import type { Reply } from '../lib/core/reply.ts'
import type { Services } from '../lib/services.ts'

const get = { name: 'dashboard', method: 'GET', body: 'none', maxBodyBytes: 0 } as const

const toPage: Reply = { status: 302, headers: { location: '/dashboard/' }, body: '' }

/** Returns the endpoints of the page, which are for browsers and not described by the OpenAPI document. */
export function dashboardEndpoints ({ admin }: Pick<Services, 'admin'>): readonly Endpoint[] {
  const file = admin === undefined ? async () => await notServed(isOff) : pageFile()
  const isForPage = ({ headers: { accept = '' } }: Call): boolean =>
    admin !== undefined && accept.includes('text/html')
  return [
    { ...get, path: '/', handle: async call => isForPage(call) ? toPage : await notServed(noPath) },
    { ...get, path: '/dashboard', handle: file },
    { ...get, path: '/dashboard/', handle: file },
    { ...get, path: '/dashboard/*path', handle: file }
  ]
}

const noPath = 'Not found: GET /. The API is below /v1/: GET /openapi.json describes it.'
const isOff = 'Not found: the dashboard is off. The operator can set `dashboard.enabled`.'

async function notServed (message: string): Promise<never> {
  return await Promise.reject(new GatewayError('not_found', { message }))
}

/** Loads the file reader on the first request. */
function pageFile (): Endpoint['handle'] {
  let files: Promise<PageFiles> | undefined
  return async ({ params, headers }: Call) => {
    files ??= import('../lib/dashboard/page-files.ts').then(({ PageFiles }) => new PageFiles())
    const file = await (await files).find(params['path'] ?? '', String(headers['accept-encoding'] ?? ''))
    if (file === undefined) throw new GatewayError('not_found')
    return file
  }
}
