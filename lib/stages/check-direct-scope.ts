import { GatewayError } from '../core/errors.ts'
import { map, type Stage } from '../pipeline/stage.ts'
import { budgetsOf, checkPriced } from '../limits/prices.ts'
import { mayNameUrls } from '../mcp/tool-scope.ts'
import { mayUseModel } from '../models/scope.ts'
import { isDirect } from '../providers/is-direct.ts'
import type { ChatInput } from '../chat/input.ts'
import type { RoutedCall } from '../core/call.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Services } from '../services.ts'

/**
 * Checks what a request in the caller's own words has a provider do against the rights of the key: other models that the
 * request names, tool servers that the provider is to call, and fields without a price under a budget. One call in, the same call out.
 *
 * @throws GatewayError `insufficient_permissions`
 */
export function checkDirectScope<C> (
  { providers, settings }: Pick<Services, 'providers' | 'settings'>, { directScope, directDialect }: Pick<Dialect<never, C>, 'directScope' | 'directDialect'>
): Stage<RoutedCall<ChatInput>> {
  if (directScope === undefined) return map(call => call)
  return map(call => {
    const { key, routes } = call
    const direct = routes.filter(({ providerId }) => isDirect(providers.get(providerId), directDialect))
    if (direct.length === 0) return call
    const { models, toolServers, unpriced } = directScope(call.context as C) // by the `input` of the same dialect
    if (toolServers && !mayNameUrls(key)) {
      throw new GatewayError('insufficient_permissions', { message: 'This API key may not use MCP servers by URL.', param: 'mcp_servers' })
    }
    checkPriced(unpriced, budgetsOf(call, settings))
    // A later attempt may send the same words to another provider of the dialect.
    const refused = models.find(model => direct.some(({ providerId }) => !mayUseModel(key, `${providerId}/${model}`)))
    if (refused === undefined) return call
    throw new GatewayError('insufficient_permissions', { message: `This API key may not use the model \`${refused.slice(0, 100)}\`.`, param: 'model' })
  })
}
