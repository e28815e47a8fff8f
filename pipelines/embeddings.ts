/** POST /v1/embeddings: texts in, a vector for each out. */

import { pipe } from 'it-pipe'
import { checkEmbeddings } from '../lib/embeddings/input.ts'
import { embeddingsReply } from '../lib/replies/embeddings.ts'
import { orDecision } from '../lib/replies/or-decision.ts'
import { once, perCall } from '../lib/stage.ts'
import { auth } from '../lib/stages/auth.ts'
import { embeddingLimits } from '../lib/stages/embedding-limits.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { validate } from '../lib/stages/validate.ts'
import { EmbeddingsRequest } from '../schemas/embeddings.ts'
import type { Call } from '../lib/call.ts'
import type { Provider } from '../lib/providers/provider.ts'
import type { Reply } from '../lib/reply.ts'
import type { Services } from '../lib/services.ts'

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
  const ask = providerCall(providers, pick, settings.limits, drains, health)
  const reply = embeddingsReply()
  const end = orDecision<EmbeddingsRequest>(services, pick, async source => await pipe(source, ask, reply))
  return async call => await pipe(once(call), ...stages, end)
}
