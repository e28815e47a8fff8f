/** POST /v1/embeddings: texts in, a vector for each out. */

import { pipe } from 'it-pipe'
import { checkEmbeddings } from '../lib/embeddings/input.ts'
import { embeddingsReply } from '../lib/replies/embeddings.ts'
import { onCall } from '../lib/replies/on-call.ts'
import { orDecision } from '../lib/replies/or-decision.ts'
import { once, perCall } from '../lib/stage.ts'
import { auth } from '../lib/stages/auth.ts'
import { embeddingLimits } from '../lib/stages/embedding-limits.ts'
import { providerCall, type ProviderCallOptions } from '../lib/stages/provider-call.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { validate } from '../lib/stages/validate.ts'
import { EmbeddingsRequest } from '../schemas/embeddings.ts'
import type { Call } from '../lib/call.ts'
import type { Provider } from '../lib/providers/provider.ts'
import type { Reply } from '../lib/reply.ts'
import type { Services } from '../lib/services.ts'
import type { Limits } from '../lib/settings.ts'

const pick = (provider: Provider) => provider.embeddings

export function embeddings (services: Services): (call: Call) => Promise<Reply> {
  const { keys, models, providers, settings, tokens, drains, health } = services
  const stages = [
    auth(keys),
    validate(EmbeddingsRequest),
    perCall(checkEmbeddings),
    routeModel<EmbeddingsRequest>(models, providers),
    embeddingLimits(models, tokens)
  ] as const
  const ask = providerCall(providers, pick, sizes(settings.limits), drains, health)
  const reply = embeddingsReply()
  const end = onCall(orDecision<EmbeddingsRequest>(services, pick, async call => await pipe(once(call), ask, reply)))
  return async call => await pipe(once(call), ...stages, end)
}

/** As many vectors as one request may ask for, of the longest there are, printed with indents. */
function sizes (limits: Limits): ProviderCallOptions {
  const numberBytes = 32
  return { ...limits, answerBytes: Math.max(limits.answerBytes, 2048 * 3072 * numberBytes) }
}
