/** POST /v1/embeddings: texts in, a vector for each out. */

import { pipe } from 'it-pipe'
import { embeddingsInput } from '../lib/embeddings/input.ts'
import { estimateEmbeddings } from '../lib/limits/estimate.ts'
import { embeddingsReply } from '../lib/replies/embeddings.ts'
import { once, map } from '../lib/core/stage.ts'
import { auth } from '../lib/stages/auth.ts'
import { dryRun, dryRunReply } from '../lib/stages/dry-run.ts'
import { embeddingLimits } from '../lib/stages/embeddings/embedding-limits.ts'
import { limits } from '../lib/stages/limits.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { validate } from '../lib/stages/validate.ts'
import { EmbeddingsRequest } from '../schemas/embeddings.ts'
import type { Call, RoutedCall } from '../lib/core/call.ts'
import type { Reply } from '../lib/core/reply.ts'
import type { Services } from '../lib/services.ts'
import type { ProviderCallOptions } from '../lib/upstream/attempt.ts'
import type { Limits } from '../lib/core/settings.ts'

export function embeddings (services: Services): (call: Call) => Promise<Reply> {
  const { keys, models, providers, settings, tokens } = services
  const stages = [
    auth(keys),
    validate(EmbeddingsRequest),
    map(embeddingsInput),
    routeModel<EmbeddingsRequest>(models, providers),
    dryRun<RoutedCall<EmbeddingsRequest>>(services, 'embeddings'),
    limits<RoutedCall<EmbeddingsRequest>>(services, estimateEmbeddings),
    embeddingLimits(models, tokens),
    providerCall(services, 'embeddings', sizes(settings.limits))
  ] as const
  const reply = embeddingsReply()
  return async call => await pipe(once(call), ...stages, reply).catch(dryRunReply)
}

/** As many vectors as one request may ask for, of the longest there are, printed with indents. */
function sizes (limits: Limits): ProviderCallOptions {
  const numberBytes = 32
  return { ...limits, answerBytes: Math.max(limits.answerBytes, 2048 * 3072 * numberBytes) }
}
