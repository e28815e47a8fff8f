/** Exported files of usage rows. */

import { GatewayError } from '../../lib/core/errors.ts'
import { pageRequest } from '../../lib/stores/pages.ts'
import { audit, notFound } from './acts.ts'
import type { Services } from '../../lib/services.ts'
import type { AdminHandlers } from './handler.ts'

export const exportHandlers: AdminHandlers<
  'GET /admin/v1/usage-exports' | 'POST /admin/v1/usage-exports/run'
> = {
  'GET /admin/v1/usage-exports': async ({ search }, services) =>
    await exportsOf(services).list(search.get('target') ?? undefined, pageRequest(search)),

  'POST /admin/v1/usage-exports/run': async (call, services) => {
    const { target } = call.request
    const due = await exportsOf(services).start(target)
    if (due === undefined) throw notFound('target', 'target of `usage.exports`')
    await audit(call, { action: 'usage_export.run', subject: { id: target }, after: { due } })
    return { target, due }
  }
}

/** @throws GatewayError `not_found` if the configuration has no target */
function exportsOf ({ usageExports }: Services): NonNullable<Services['usageExports']> {
  if (usageExports !== undefined) return usageExports
  throw new GatewayError('not_found', {
    message: 'The configuration exports no usage: add a target to `usage.exports`.'
  })
}
