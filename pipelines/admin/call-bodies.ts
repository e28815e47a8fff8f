/**
 * The request and the answer of a call, for users who may read them. Every access is written to the audit
 * log.
 */

import { isAtLeast, maySee } from '../../lib/accounts/roles.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { audit, notFound, param, principalOf, report } from './acts.ts'
import type { AdminHandlers } from './handler.ts'

/** Reasons why a call has no bodies, by its state. */
const reasons: Readonly<Record<string, string>> = {
  expired: 'They were kept, and have expired.',
  dropped: 'They were dropped, because the memory for kept bodies was full. Raise `calls.kept_memory_bytes` to keep more.'
}
const notKept =
  'They were not kept: `calls.keep_bodies` in the configuration lists the projects whose bodies are kept.'

export const callBodyHandlers: AdminHandlers<'GET /admin/v1/calls/:call_id/bodies'> = {
  'GET /admin/v1/calls/:call_id/bodies': async call => {
    const principal = principalOf(call)
    const { projects } = principal
    const found = await report(
      call,
      'findBodies',
      param(call, 'call_id'),
      projects && [...projects],
      Date.now()
    )
    if (found === undefined || !maySee(principal, found.project_id)) throw notFound('call_id', 'call')
    const { id, request_id: name, project_id, state, bodies } = found
    if (bodies === undefined) {
      throw new GatewayError('not_found', { param: 'call_id', message: reasons[state] ?? notKept })
    }
    if (!isAtLeast(principal.role, bodies.readable_by)) {
      throw new GatewayError('insufficient_permissions', {
        message: `This requires the role \`${bodies.readable_by}\`.`
      })
    }
    await audit(call, { action: 'call.read_bodies', subject: { id, name }, after: { project_id } })
    return bodies
  }
}
