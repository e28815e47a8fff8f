import { pipeline, type Handler } from './pipeline.ts'
import { providerLabels, type ProviderLabel } from '../schemas/providers.ts'
import { Model, ModelList } from '../schemas/models.ts'
import type { AuthedCall, Call } from '../lib/core/call.ts'
import { GatewayError } from '../lib/core/errors.ts'
import type { ModelEntry } from '../lib/core/model.ts'
import { listsName, mayUse } from '../lib/models/scope.ts'
import { jsonReply } from '../lib/replies/json.ts'
import type { Services } from '../lib/services.ts'
import type { ProviderSettings } from '../lib/core/settings.ts'
import { map } from '../lib/core/stage.ts'
import { auth } from '../lib/stages/auth.ts'
import type { Docs } from './docs.ts'

export const listModelsDocs: Docs = {
  operationId: 'models',
  group: 'Models',
  summary: 'List the models that can be called.',
  answers: [{ description: 'All models.', schema: ModelList }]
}

export const retrieveModelDocs: Docs = {
  operationId: 'model',
  group: 'Models',
  summary: 'Describe one model. Its id may hold slashes, as they are or encoded.',
  answers: [{ description: 'The model.', schema: Model }],
  errors: ['model_not_found']
}

type ModelServices = Pick<Services, 'settings' | 'keys' | 'models'>

/** Serves GET /v1/models: the models this key may use. */
export function listModels (services: ModelServices): Handler<Call> {
  const { settings, models } = services
  const describe = modelDescriber(settings.providers)
  const list = map(({ key }: AuthedCall): ModelList => ({
    object: 'list',
    data: models.list().filter(({ id }) => mayUse(key, id)).map(describe)
  }))
  return pipeline(auth(services), list, jsonReply())
}

/**
 * Serves GET /v1/models/{id}: one model, by any name a call may use for it (`call.params.model`).
 * A model that the key may not use does not exist for it.
 */
export function retrieveModel (services: ModelServices): Handler<Call> {
  const { settings, models } = services
  const describe = modelDescriber(settings.providers)
  const retrieve = map(({ key, params }: AuthedCall): Model => {
    const id = params.model ?? ''
    const [route, other] = models.routes(id)
    const entry = route !== undefined && other === undefined ? models.find(route.modelId) : undefined
    const visible = entry !== undefined && (listsName(key, id) || mayUse(key, entry.id))
    if (!visible) throw new GatewayError('model_not_found', { param: 'model' })
    return describe(entry)
  })
  return pipeline(auth(services), retrieve, jsonReply())
}

/** Makes the translation of a catalogue entry into the model object of the wire. */
function modelDescriber (providers: readonly ProviderSettings[]): (entry: ModelEntry) => Model {
  const kinds = new Map(providers.map(({ id, kind }) => [id, kind]))
  return entry => ({
    id: entry.id,
    object: 'model',
    provider: labelOf(kinds.get(entry.providerId) ?? entry.providerId),
    // Required on the wire; the start of Unix time is how lists say that it is not known.
    created_at: entry.createdAt ?? '1970-01-01T00:00:00Z',
    display_name: entry.displayName ?? null,
    description: entry.description ?? null,
    capabilities: { ...unknownCapabilities, ...entry.capabilities },
    provider_info: {
      status: entry.status,
      upstream_api: entry.upstreamApi,
      provider_id: entry.providerId
    }
  })
}

const unknownCapabilities = {
  text: null,
  vision: null,
  image_generation: null,
  audio: null,
  tools: null,
  structured_output: null,
  streaming: null,
  thinking: null,
  input_token_limit: null,
  output_token_limit: null
}

/**
 * Returns the label of a provider. The wire knows eight, and one that is not among them makes a strict
 * client refuse the whole list; so a server of another kind gets the label of the dialect it
 * speaks, which is OpenAI's. Who really serves the model is said in its id, in
 * `provider_info.provider_id` and, by `openai-compatible`, in `upstream_api`.
 */
function labelOf (kind: string): ProviderLabel {
  return providerLabels.find(label => label === kind) ?? 'openai'
}
