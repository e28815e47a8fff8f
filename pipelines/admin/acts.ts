/** Steps that several handlers of the admin API share. */

import type { Actor, Act } from '../../lib/accounts/audit-log.ts'
import { maySee, type Principal } from '../../lib/accounts/roles.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { AdminCall } from '../../lib/stages/admin-auth.ts'
import type { ArgumentsOf, ReportName, ResultOf } from '../../lib/usage/reports.ts'

/** Returns the signed-in user, or the admin key. */
export function principalOf ({ principal }: AdminCall): Principal {
  if (principal === undefined) throw new GatewayError('invalid_api_key')
  return principal
}

export function actorOf (call: AdminCall): Actor {
  const { id, name } = principalOf(call)
  return { id, name, address: call.origin.address }
}

/** Writes an action of the caller to the audit log. */
export async function audit (call: AdminCall, act: Act): Promise<void> {
  await call.admin.accounts.audit.add(actorOf(call), act)
}

/**
 * Creates a report for the caller, queued with those of others.
 *
 * @throws GatewayError `overloaded`
 */
export async function report<N extends ReportName> (
  call: AdminCall,
  name: N,
  ...values: ArgumentsOf<N>
): Promise<ResultOf<N>> {
  const { admin: { reports, reportSlots }, signal } = call
  return await reportSlots.run(
    principalOf(call).id,
    async () => await reports.make(name, ...values),
    signal
  )
}

export function param ({ params }: AdminCall, name: string): string {
  return params[name] ?? ''
}

export function notFound (name: string, what: string): GatewayError {
  return new GatewayError('not_found', { param: name, message: `There is no such ${what}.` })
}

/** @throws GatewayError `not_found` for a project that does not exist or that the caller may not see */
export async function visibleProject (
  call: AdminCall,
  id: string
): ReturnType<AdminCall['admin']['accounts']['projects']['require']> {
  const project = await call.admin.accounts.projects.require(id)
  if (!maySee(principalOf(call), id)) throw notFound('project_id', 'project')
  return project
}

/** @throws GatewayError `insufficient_permissions` for an admin key with scopes */
export function checkUnscoped (call: AdminCall, act: string): void {
  if (principalOf(call).scopes !== undefined) {
    throw new GatewayError('insufficient_permissions', {
      message: `An admin key with scopes cannot ${act}: that would give more than its scopes.`
    })
  }
}

/** @throws GatewayError `invalid_value` for unknown guards: calls would be refused because of them */
export function checkGuardNames (names: readonly string[] | null | undefined, { guards }: Settings): void {
  const unknown = names?.find(name => !guards.some(stage => stage.name === name))
  if (unknown === undefined) return
  throw new GatewayError('invalid_value', {
    param: 'stages',
    message: `The configuration has no guard \`${unknown}\`: add it to \`stages\` there, or send the name of one that it has.`
  })
}
