/** The configuration of this process: what is in effect, and its file. */

import { GatewayError } from '../../lib/core/errors.ts'
import { jsonSchema } from '../../lib/config/editor-schema.ts'
import type { Checker, LiveConfiguration } from '../../lib/config/live-configuration.ts'
import type { AdminCall } from '../../lib/stages/admin-auth.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { Role } from '../../schemas/admin/common.ts'
import { audit, checkUnscoped, principalOf } from './acts.ts'
import type { AdminHandlers } from './handler.ts'

export const configurationHandlers: AdminHandlers<
  | 'GET /admin/v1/configuration'
  | 'GET /admin/v1/configuration/schema'
  | 'POST /admin/v1/configuration/check'
  | 'POST /admin/v1/configuration'
> = {
  'GET /admin/v1/configuration': async (call, { settings }) =>
    configurationOf(call).describe(mayEdit(principalOf(call), settings)),

  'GET /admin/v1/configuration/schema': async () => jsonSchema(),

  'POST /admin/v1/configuration/check': async call =>
    await configurationOf(call).check(call.request.text, checkerOf(call)),

  'POST /admin/v1/configuration': async (call, { settings }) => {
    const configuration = configurationOf(call)
    checkUnscoped(call, 'save the configuration')
    if (!mayEdit(principalOf(call), settings)) {
      throw new GatewayError('insufficient_permissions', {
        message: 'The configuration cannot be saved here: `dashboard.edit_config` is not set.'
      })
    }
    const { changed, needs_restart } = await configuration.save(
      call.request.text,
      call.request.revision,
      checkerOf(call)
    )
    await audit(call, { action: 'configuration.save', after: { changed, needs_restart } })
    return configuration.describe(true)
  }
}

/** Returns true for a user who may save the file in the dashboard. */
export function mayEdit ({ role }: { readonly role: Role }, { dashboard }: Settings): boolean {
  return role === 'owner' && dashboard.editConfig
}

function checkerOf (call: AdminCall): Checker {
  return { id: principalOf(call).id, signal: call.signal }
}

/** @throws GatewayError `not_found` for a gateway embedded in another program */
function configurationOf ({ admin: { configuration } }: AdminCall): LiveConfiguration {
  if (configuration === undefined) {
    throw new GatewayError('not_found', { message: 'This gateway has no configuration of its own.' })
  }
  return configuration
}
