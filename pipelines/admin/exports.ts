/** Exported files of usage records. */

import { GatewayError } from '../../lib/core/errors.ts'
import { pageRequest } from '../../lib/stores/pages.ts'
import type { AdminHandlers } from './handler.ts'

export const exportHandlers: AdminHandlers<'GET /admin/v1/usage-exports'> = {
  'GET /admin/v1/usage-exports': async ({ search }, { usageExports }) => {
    if (usageExports === undefined) {
      throw new GatewayError('not_found', {
        message: 'The configuration exports no usage: add a target to `usage.exports`.'
      })
    }
    return await usageExports.list(search.get('target') ?? undefined, pageRequest(search))
  }
}
