/** Serves POST /v1/embeddings: texts in, one vector for each out. */

import { map } from '../lib/pipeline/stage.ts'
import { embeddingsInput } from '../lib/embeddings/input.ts'
import { embeddingsRequestTexts } from '../lib/embeddings/text-places.ts'
import { embeddingsUsage, estimateEmbeddings } from '../lib/limits/estimate-units.ts'
import { embeddingsReply } from '../lib/replies/embeddings-reply.ts'
import { auth } from '../lib/stages/auth.ts'
import { callOptions } from '../lib/stages/call-options.ts'
import { checkProviderUses } from '../lib/stages/check-provider-uses.ts'
import { dryRun } from '../lib/stages/dry-run.ts'
import { embeddingLimits } from '../lib/stages/embeddings/embedding-limits.ts'
import { inspectRequest } from '../lib/stages/inspect-request.ts'
import { limits } from '../lib/stages/limits.ts'
import { namedGuards } from '../lib/stages/named-guards.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { recordUsage } from '../lib/stages/record-usage.ts'
import { textsAt } from '../lib/stages/texts-at.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { validate } from '../lib/stages/validate.ts'
import { EmbeddingInput, EmbeddingList, EmbeddingsRequest } from '../schemas/embeddings.ts'
import { pipeline, type Handler } from './pipeline.ts'
import type { Call } from '../lib/core/call.ts'
import type { Services } from '../lib/services.ts'
import { providerErrors, type Docs } from './docs.ts'
import { RouteDecision } from '../schemas/route-decision.ts'

export const embeddingsDocs: Docs = {
  operationId: 'embeddings',
  group: 'Embeddings',
  summary: 'Turn texts into vectors, for search and comparison.',
  request: { schema: EmbeddingsRequest },
  answers: [{ description: 'A vector for each input.', schema: EmbeddingList }],
  named: { EmbeddingsRequest, EmbeddingInput, EmbeddingList },
  errors: ['invalid_value', 'unsupported_parameter', ...providerErrors],
  dryRun: RouteDecision
}

/**
 * 2048 vectors, the maximum of a request, of 3072 numbers, the maximum of a model, printed with indentation.
 */
const maxVectorBytes = 2048 * 3072 * 32

const validEmbeddings = validate(EmbeddingsRequest)

export function embeddings (services: Services): Handler<Call> {
  const answerBytes = Math.max(services.settings.limits.answerBytes, maxVectorBytes)
  return pipeline(
    auth(services),
    validEmbeddings,
    namedGuards(services),
    callOptions(services, EmbeddingsRequest),
    map(embeddingsInput),
    routeModel(services),
    dryRun(services, 'embeddings', { estimate: estimateEmbeddings }),
    checkProviderUses(services, () => []),
    limits<EmbeddingsRequest>(services, { estimate: estimateEmbeddings }),
    inspectRequest(services.textGuards, textsAt<EmbeddingsRequest>(embeddingsRequestTexts)),
    embeddingLimits(services),
    providerCall(services, 'embeddings', { answerBytes }),
    recordUsage({ estimate: embeddingsUsage }),
    embeddingsReply()
  )
}
