/** Lists the models, routes and aliases that a key may use, in the form of OpenAI or Anthropic. */

import { pipeline, type Handler } from './pipeline.ts'
import { Type } from 'typebox'
import { ErrorBody } from '../schemas/errors.ts'
import { MessagesErrorBody, MessagesModel, MessagesModelList } from '../schemas/messages-answer.ts'
import { Model, ModelList } from '../schemas/models.ts'
import { unknownModelEntry, kindsById } from '../lib/models/known-models.ts'
import type { ApiKey } from '../lib/core/key.ts'
import type { AuthedCall, Call } from '../lib/core/call.ts'
import { GatewayError } from '../lib/core/errors.ts'
import type { ModelEntry } from '../lib/core/model.ts'
import { cutName } from '../lib/core/record.ts'
import { isPattern } from '../lib/models/name-patterns.ts'
import { listsName, mayUseModel } from '../lib/models/scope.ts'
import { modelInfo, modelPage } from '../lib/dialects/messages/model-list.ts'
import type { ModelRegistry } from '../lib/models/model-registry.ts'
import { replyWith } from '../lib/replies/reply-with.ts'
import { toJsonReply, type Reply } from '../lib/core/reply.ts'
import type { Services } from '../lib/services.ts'
import type { ProviderSettings, Settings } from '../lib/core/settings.ts'
import { labelOf } from '../lib/providers/kinds.ts'
import { auth } from '../lib/stages/auth.ts'
import type { Docs } from './docs.ts'

const headers = { 'request-id': 'The id of the call, for Anthropic\'s clients.' }

function forAnthropic (description: string): string {
  return `${description} With the header \`anthropic-version\`, the answer has the form of Anthropic's API.`
}

const requestHeaders = { 'anthropic-version': "Any version: the answer has the form of Anthropic's API." }

const errorBody = Type.Union([ErrorBody, MessagesErrorBody])

export const listModelsDocs: Docs = {
  operationId: 'models',
  group: 'Models',
  summary: 'List the models that can be called.',
  query: {
    limit: { description: "In the form of Anthropic's API: number of models. Default: 20.", type: 'integer' },
    after_id: { description: 'In that form: the last id of the previous page.', type: 'string' },
    before_id: { description: 'In that form: the first id of the following page.', type: 'string' }
  },
  requestHeaders,
  answers: [{ description: forAnthropic('All models.'), schema: Type.Union([ModelList, MessagesModelList]) }],
  headers,
  errorBody
}

export const retrieveModelDocs: Docs = {
  operationId: 'model',
  group: 'Models',
  summary: 'Describe one model. Its id may contain slashes, encoded or not.',
  requestHeaders,
  answers: [{ description: forAnthropic('The model.'), schema: Type.Union([Model, MessagesModel]) }],
  headers,
  errorBody,
  errors: ['model_not_found']
}

export type ModelServices = Pick<Services, 'settings' | 'keys' | 'models'>

/** Serves GET /v1/models: the models this key may use. */
export function listModels (services: ModelServices): Handler<Call> {
  const { settings, models } = services
  const describe = modelDescriber(settings.providers)
  const describeName = nameDescriber(services)
  const names = configuredNames(settings)
  const list = ({ key }: AuthedCall): ModelList => {
    const named = [...names].flatMap(([name, isListed]) => isListed ? describeName(name, key) ?? [] : [])
    return { object: 'list', data: [...named, ...otherModels(models, names, key).map(describe)] }
  }
  return pipeline(
    auth(services),
    replyWith(async (call: AuthedCall) => {
      const models = list(call)
      return isForAnthropic(call)
        ? anthropicReply(modelPage(models.data, call.query ?? ''), call)
        : toJsonReply(models)
    })
  )
}

/**
 * Serves GET /v1/models/{id}: one model, by any name that a call may use for it (`call.params.model`). A
 * model that the key may not use is reported as not found.
 */
export function retrieveModel (services: ModelServices): Handler<Call> {
  const { settings, models } = services
  const describe = modelDescriber(settings.providers)
  const describeName = nameDescriber(services)
  const names = configuredNames(settings)
  const retrieve = ({ key, params, record }: AuthedCall): Model => {
    const id = params.model ?? ''
    record.request.requestedModel = cutName(id)
    if (names.has(id)) {
      const named = describeName(id, key)
      if (named === undefined) throw new GatewayError('model_not_found', { param: 'model' })
      return named
    }
    const [route] = models.routes(id)
    const entry = route === undefined ? undefined : models.find(route.modelId)
    const visible = entry !== undefined && (listsName(key, id) || mayUseModel(key, entry.id))
    if (!visible) throw new GatewayError('model_not_found', { param: 'model' })
    return describe(entry)
  }
  return pipeline(auth(services), replyWith(async (call: AuthedCall) => {
    const model = retrieve(call)
    return isForAnthropic(call) ? anthropicReply(modelInfo(model), call) : toJsonReply(model)
  }))
}

/** Returns true for callers who expect Anthropic's API. */
function isForAnthropic ({ headers }: Call): boolean {
  return headers['anthropic-version'] !== undefined
}

function anthropicReply (value: unknown, { id }: Call): Reply {
  const reply = toJsonReply(value)
  return { ...reply, headers: { ...reply.headers, 'request-id': id } }
}

/** Returns the models that a key may use by id: those whose id no route or alias has. */
export function otherModels (
  models: Pick<ModelRegistry, 'list'>,
  names: ReadonlyMap<string, boolean>,
  key: ApiKey
): readonly ModelEntry[] {
  return models.list().filter(({ id }) => mayUseModel(key, id) && !names.has(id))
}

/** Returns the names of routes and aliases, each with whether it is listed. */
export function configuredNames ({ routes, models }: Settings): ReadonlyMap<string, boolean> {
  const aliases = models.filter(({ id, alias }) => alias !== undefined && !isPattern(id))
  return new Map([
    ...aliases.map(({ id, hidden }) => [id, !hidden] as const),
    ...routes.map(({ name }) => [name, true] as const)
  ])
}

/** Returns a function that finds the models behind a route or an alias that a key may use, in order. */
export function modelsBehind ({
  settings,
  models
}: Omit<ModelServices, 'keys'>): (name: string, key: ApiKey) => readonly ModelEntry[] {
  const kinds = kindsById(settings)
  return (name, key) =>
    models
      .routes(name)
      .filter(({ modelId }) => listsName(key, name) || mayUseModel(key, modelId))
      .map(
        ({ modelId, providerId, model }) =>
          models.find(modelId) ?? unknownModelEntry(providerId, model, kinds.get(providerId))
      )
}

/**
 * Describes a route or an alias by what all usable models behind it have in common; `undefined` if there are
 * none.
 */
function nameDescriber (
  services: Omit<ModelServices, 'keys'>
): (name: string, key: ApiKey) => Model | undefined {
  const describe = modelDescriber(services.settings.providers)
  const modelsOf = modelsBehind(services)
  return (name, key) => {
    const [first, ...others] = modelsOf(name, key).toSorted((a, b) => (a.id < b.id ? -1 : 1))
    if (first === undefined) return undefined
    const only = others.length === 0
    const capabilities = others.reduce(
      (common, { capabilities: theirs }) => inCommon(common, theirs),
      first.capabilities
    )
    return {
      ...describe({ ...first, capabilities }),
      id: name,
      owned_by: 'headgate',
      display_name: only ? first.displayName ?? null : null,
      description: only ? first.description ?? null : null,
      pricing: only ? pricingOf(first) : null
    }
  }
}

type Capabilities = ModelEntry['capabilities']

/** Combines two descriptions: the smaller limits, and only facts known of both. */
function inCommon (a: Capabilities, b: Capabilities): Capabilities {
  return Object.fromEntries(Object.entries(a).flatMap(([name, value]): Array<[string, boolean | number]> => {
    const other = b[name]
    if (typeof value === 'number') return typeof other === 'number' ? [[name, Math.min(value, other)]] : []
    return typeof other === 'boolean' ? [[name, value && other]] : []
  }))
}

/** Returns a function that translates a catalogue entry to a model object of the API. */
function modelDescriber (providers: readonly ProviderSettings[]): (entry: ModelEntry) => Model {
  const kinds = new Map(providers.map(({ id, kind }) => [id, kind]))
  return entry => ({
    id: entry.id,
    object: 'model',
    // Required on the wire; lists use the Unix epoch for an unknown time.
    created: Math.floor(Date.parse(entry.createdAt ?? unknownDate) / 1000),
    owned_by: entry.providerId,
    provider: labelOf(kinds.get(entry.providerId) ?? entry.providerId),
    created_at: entry.createdAt ?? unknownDate,
    display_name: entry.displayName ?? null,
    description: entry.description ?? null,
    capabilities: { ...unknownCapabilities, ...entry.capabilities },
    pricing: pricingOf(entry),
    provider_info: {
      status: entry.status,
      upstream_api: entry.upstreamApi,
      provider_id: entry.providerId
    }
  })
}

function pricingOf ({ price }: ModelEntry): NonNullable<Model['pricing']> | null {
  if (price === undefined) return null
  const { input = null, cachedInput = null, output = null, asOf } = price
  return { input, cached_input: cachedInput, output, as_of: asOf }
}

const unknownDate = '1970-01-01T00:00:00Z'

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
