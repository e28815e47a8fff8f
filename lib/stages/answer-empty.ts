import { EarlyReply } from '../core/reply.ts'
import { map, pass, type Stage } from '../pipeline/stage.ts'
import { speaksDialect } from '../providers/speaks-dialect.ts'
import type { ChatInput } from '../chat/input.ts'
import { contextOf, copyCall, type RoutedCall } from '../core/call.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Services } from '../services.ts'

/**
 * Answers requests for zero tokens in dialects that allow them; passes other calls on unchanged. Such
 * requests warm the prompt cache of a provider of that dialect. Other providers have no cache to warm.
 *
 * @throws EarlyReply with the empty answer of the dialect
 */
export function answerEmpty<C> (
  { providers }: Pick<Services, 'providers'>,
  { empty, direct }: Pick<Dialect<never, C>, 'empty' | 'direct'>
): Stage<RoutedCall<ChatInput>> {
  if (empty === undefined) return pass
  return map(call => {
    if (
      call.request.max_completion_tokens !== 0 ||
      call.routes.some(({ providerId }) => speaksDialect(providers.get(providerId), direct?.dialect))
    ) {
      return call
    }
    throw new EarlyReply(empty(copyCall(call, { context: contextOf<C>(call) })))
  })
}
