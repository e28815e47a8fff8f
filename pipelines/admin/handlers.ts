/** The handlers of all routes of the admin API. */

import type { AdminHandlers } from './handler.ts'
import { adminKeyHandlers } from './admin-keys.ts'
import { auditHandlers } from './audit.ts'
import { keyHandlers } from './keys.ts'
import { projectHandlers } from './projects.ts'
import { sessionHandlers } from './session.ts'
import { signInHandlers } from './sign-in.ts'
import { userHandlers } from './users.ts'

export const adminHandlers: Partial<AdminHandlers> = {
  ...signInHandlers, ...sessionHandlers, ...userHandlers, ...projectHandlers, ...keyHandlers, ...adminKeyHandlers, ...auditHandlers
}
