import { pageRequest } from '../../lib/stores/pages.ts'
import type { AdminHandlers } from './handler.ts'

export const auditHandlers: AdminHandlers<'GET /admin/v1/audit'> = {
  'GET /admin/v1/audit': async ({ admin: { accounts }, search }) => {
    const filter = (name: string): string | undefined => search.get(name) ?? undefined
    return await accounts.audit.list(
      { action: filter('action'), actor: filter('actor'), subject: filter('subject') },
      pageRequest(search)
    )
  }
}
