/** The handlers of all routes of the admin API. */

import type { AdminHandlers } from './handler.ts'
import { adminKeyHandlers } from './admin-keys.ts'
import { alertHandlers } from './alerts.ts'
import { auditHandlers } from './audit.ts'
import { callBodyHandlers } from './call-bodies.ts'
import { callHandlers } from './calls.ts'
import { configurationHandlers } from './configuration.ts'
import { exportHandlers } from './exports.ts'
import { keyHandlers } from './keys.ts'
import { oidcHandlers } from './oidc.ts'
import { passkeyHandlers } from './passkeys.ts'
import { projectHandlers } from './projects.ts'
import { resourceHandlers } from './resources.ts'
import { sessionHandlers } from './session.ts'
import { signInHandlers } from './sign-in.ts'
import { guardHandlers } from './guards.ts'
import { usageHandlers } from './usage.ts'
import { userHandlers } from './users.ts'

export const adminHandlers: AdminHandlers = {
  ...signInHandlers,
  ...sessionHandlers,
  ...passkeyHandlers,
  ...oidcHandlers,
  ...userHandlers,
  ...projectHandlers,
  ...keyHandlers,
  ...adminKeyHandlers,
  ...auditHandlers,
  ...alertHandlers,
  ...usageHandlers,
  ...exportHandlers,
  ...callHandlers,
  ...callBodyHandlers,
  ...resourceHandlers,
  ...guardHandlers,
  ...configurationHandlers
}
