/**
 * Finds the providers and models that may answer a call, best first.
 *
 * The model is given as an id, as `{ model, settings }` or as a list of either. A caller may also choose the
 * provider by header and bring a key for it (`provider-choice`).
 */

import type { ModelChoice } from '../../schemas/chat.ts'
import type { ApiKey } from '../core/key.ts'
import type { Route } from '../core/route.ts'
import type { CallSession, RoutedCall, ValidCall } from '../core/call.ts'
import type { CallRecord, UnusedRoute } from '../core/record.ts'
import { GatewayError, ValidationError } from '../core/errors.ts'
import { mergeSettings } from '../chat/merge-settings.ts'
import { isList } from '../json/type-guards.ts'
import { cachesPrompts, costAttribute } from '../models/price.ts'
import { rank } from '../models/ranking.ts'
import type { Attributes, RequestedAttributes } from '../core/model.ts'
import { unique } from '../models/route-strategies.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import { listsName, mayUseModel } from '../models/scope.ts'
import { shorten } from '../text/shorten.ts'
import { tooLong } from '../validation/too-long.ts'
import type { LimitSettings, Settings } from '../core/settings.ts'
import { accountDigest } from '../providers/credential.ts'
import type { Provider, Providers } from '../providers/provider.ts'
import {
  orderByCaller,
  applyPreferences,
  readPreferences,
  checkOneProvider,
  providerChoice,
  routesByChoice,
  type ProviderChoice
} from './provider-choice.ts'
import type { RoutingState } from './routing-state.ts'
import {
  preferHistoryOrigin,
  originFirst,
  skipUnfit,
  type FilteredRoutes,
  type Requirements
} from './requirements.ts'

/** A request that may name its model. */
export interface ModelRequest {
  readonly model?: ModelChoice | readonly ModelChoice[] | null | undefined
  readonly stream?: boolean | undefined
}

export interface ChooseRoutesServices {
  readonly models: ModelRegistry
  readonly providers: Providers
  /** Default: the providers of earlier tool calls are unknown. */
  readonly routingState?: Pick<RoutingState, 'toolCalls' | 'credentials'> | undefined
  readonly settings: Pick<Settings, 'providers'> & { readonly limits: Pick<LimitSettings, 'modelsPerCall'> }
}

export interface ChooseRoutesOptions<R> {
  /** The model of a request that names none. Default: a model is required. */
  readonly defaultModel?: (request: R) => string
  /** Picks those settings of `{ model, settings }` that this endpoint supports. Default: none. */
  readonly settings?: (values: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
  /** Returns the attributes by which several models are ordered. Default: none. */
  readonly attributes?: (request: R) => RequestedAttributes
  /** Finds the session of a call, whose turns share a prompt. Default: no sessions. */
  readonly session?: (call: RoutingInput<R>) => CallSession
  /** The required capabilities of a model; read only if there are several candidates. Default: none. */
  readonly requirements?: (request: R) => Requirements
}

/** The parts of a call that determine its routes; the requested model is noted in its record. */
type RoutingInput<R> = Pick<ValidCall<R>, 'request' | 'headers' | 'key' | 'origin' | 'options'> & {
  readonly record: Pick<CallRecord, 'request' | 'caller'>
}

export interface ChosenRoutes
  extends Pick<
    RoutedCall<unknown>,
    'routes' | 'requestedNames' | 'providerKey' | 'session' | 'reasoningAccount'
  > {
  /** Requested models that are not tried, with reasons. */
  readonly skipped: readonly UnusedRoute[]
}

/**
 * Chooses the routes of a call: at least one, each model once, ordered as named or by requested attributes. A
 * list with an unknown model is refused entirely; otherwise a mistyped name would only show when the other
 * models fail.
 *
 * @throws GatewayError `model_not_found`, `insufficient_permissions`, `unknown_provider`, `invalid_value`;
 *   ValidationError for a request without model, or with a list of more than `limits.models_per_call`.
 */
export function chooseRoutes<R extends ModelRequest> (
  call: RoutingInput<R>,
  services: ChooseRoutesServices,
  options: ChooseRoutesOptions<R> = {}
): ChosenRoutes {
  const { models, providers, routingState } = services
  const { settings, attributes, session: sessionOf, requirements } = options
  const choices = requestedModels(call, options.defaultModel, services.settings.limits)
  call.record.request.requestedModel = choices.map(requestedName).join(', ').slice(0, 256)

  let known: CallSession | undefined
  const session = sessionOf && (() => known ??= sessionOf(call))
  const byHeader = providerChoice(call.headers, providers)
  const named = routesOf(choices, call, services, { byHeader, session, settings })
  if (byHeader?.key !== undefined) checkOneProvider(named.routes)

  const ranked = named.routes.length > 1
    ? byAttributes(
        unique(named.routes), new Map(named.chosenAs.toReversed()), models, attributes?.(call.request)
      )
    : named.routes
  const { routes, skipped, account } = suitable(ranked, call, services, requirements)
  // There is at least one choice, and every choice has at least one route.
  if (routes.length === 0) throw missingModel()
  // Only these routes use the session. Finding it hashes the prompt.
  const usesSession = session !== undefined && routes.some(({ modelId, providerId, ranked }) =>
    ranked?.bySession ?? (
      routingState?.credentials(providerId) !== undefined && cachesPrompts(models.find(modelId)?.price)
    )
  )
  return {
    routes: routes as readonly [Route, ...Route[]], // not empty
    requestedNames: named.requestedNames,
    skipped,
    ...usesSession && { session: session() },
    ...account !== undefined && { reasoningAccount: account },
    ...byHeader?.key !== undefined && { providerKey: byHeader.key }
  }
}

/**
 * Lists the models that a request names, or the default of its endpoint, then its fallbacks.
 *
 * @throws ValidationError if there is none, or more than `limits.models_per_call`
 */
function requestedModels<R extends ModelRequest> (
  { request, options }: Pick<RoutingInput<R>, 'request' | 'options'>,
  defaultModel: ChooseRoutesOptions<R>['defaultModel'],
  { modelsPerCall }: Pick<LimitSettings, 'modelsPerCall'>
): readonly ModelChoice[] {
  const wanted = request.model ?? defaultModel?.(request)
  if (wanted === undefined || wanted === null) throw missingModel()
  const named = isList(wanted) ? wanted : [wanted]
  const choices = options === undefined ? named : [...named, ...options.fallbacks]
  if (choices.length <= modelsPerCall) return choices
  throw tooLong([named.length > modelsPerCall ? 'model' : 'fallbacks'], choices.length, modelsPerCall)
}

interface NamingOptions {
  readonly settings: ChooseRoutesOptions<never>['settings']
  readonly byHeader: ProviderChoice | undefined
  readonly session: (() => CallSession) | undefined
}

interface NamedRoutes {
  readonly routes: readonly Route[]
  /** The models and routes that are named, or that a header has substituted. */
  readonly requestedNames: readonly string[]
  /** The choice behind each of them. */
  readonly chosenAs: ReadonlyArray<readonly [modelId: string, ModelChoice]>
}

/**
 * Finds the routes of each choice that the key may use, in order.
 *
 * @throws GatewayError `model_not_found`, `insufficient_permissions`
 */
function routesOf (
  choices: readonly ModelChoice[],
  { request, key }: Pick<RoutingInput<ModelRequest>, 'request' | 'key'>,
  { models, providers }: ChooseRoutesServices,
  { byHeader, session, settings }: NamingOptions
): NamedRoutes {
  const routes: Route[] = []
  const requestedNames: string[] = []
  const chosenAs: Array<readonly [modelId: string, ModelChoice]> = []
  for (const choice of choices) {
    const name = requestedName(choice)
    const found =
      byHeader === undefined
        ? models.routes(name, request.stream === true, session)
        : routesByChoice(byHeader, name, models, providers)
    if (found.length === 0) {
      throw request.model == null ? defaultNotFound(name) : modelNotFound(name, models)
    }
    // If a header has replaced the model, its name is irrelevant.
    const isReplaced = byHeader !== undefined && modelsBeside(found, name, models).length > 0
    requestedNames.push(...(isReplaced ? found.map(({ modelId }) => modelId) : [name]))
    const usable = key.models === undefined ? found : allowed(found, name, key, models)
    const written = typeof choice === 'string' ? undefined : choice.settings ?? undefined
    const given = written && settings?.(written)
    for (const route of usable) {
      routes.push(settings === undefined ? route : withSettings(route, given))
      chosenAs.push([route.modelId, choice])
    }
  }
  return { routes, requestedNames, chosenAs }
}

/**
 * Removes the routes that the caller's headers exclude or that cannot serve the request, and moves the routes
 * preferred by the request's history or a header to the front.
 */
function suitable<R> (
  ranked: readonly Route[],
  { request, headers, origin }: Pick<RoutingInput<R>, 'request' | 'headers' | 'origin'>,
  { models, providers, routingState }: ChooseRoutesServices,
  requirements: ChooseRoutesOptions<R>['requirements']
): FilteredRoutes & Pick<Requirements, 'account'> {
  const preferences = readPreferences(headers)
  const allowed =
    preferences === undefined
      ? { routes: ranked, skipped: none }
      : applyPreferences(ranked, preferences, models.find)
  const [first] = allowed.routes
  const hasChoice =
    allowed.routes.length > 1 ||
    (first !== undefined && routingState?.credentials(first.providerId) !== undefined)
  const needed = hasChoice ? requirements?.(request) : undefined
  const able =
    needed === undefined
      ? { routes: allowed.routes, skipped: none }
      : skipUnfit(allowed.routes, needed, models.find)
  const historyFirst =
    needed === undefined
      ? able.routes
      : preferHistoryOrigin(able.routes, needed, {
          marksOf: id => providers.get(id)?.traits.historyMarks ?? [],
          accountsOf: id => accountsOf(providers.get(id), routingState?.credentials(id)?.size),
          providerOf: id => routingState?.toolCalls.providerOf(id)
        })
  const continued = origin === undefined ? historyFirst : originFirst(historyFirst, origin)
  const { account } = needed ?? {}
  return {
    routes: preferences === undefined ? continued : orderByCaller(continued, preferences),
    skipped:
      allowed.skipped.length + able.skipped.length === 0 ? none : [...allowed.skipped, ...able.skipped],
    ...account !== undefined && { account }
  }
}

const none: readonly never[] = []

/** Returns the digests of a provider's accounts. @param credentials the number of its credentials */
export function accountsOf (provider: Provider | undefined, credentials = 1): readonly string[] {
  return provider === undefined
    ? []
    : Array.from({ length: credentials }, (_, credential) => accountDigest(provider, undefined, credential))
}

function requestedName (choice: ModelChoice): string {
  return typeof choice === 'string' ? choice : choice.model
}

/** @param given the caller's settings, which take precedence */
function withSettings (route: Route, given: Route['settings']): Route {
  const { defaults } = route
  const settings = given === undefined ? defaults : mergeSettings(given, defaults)
  return settings === undefined ? route : { ...route, settings }
}

/**
 * Returns the same routes, best first if the request has preferences.
 *
 * @param choiceOf by model id, the first choice that includes it
 */
function byAttributes (
  routes: readonly Route[],
  choiceOf: ReadonlyMap<string, ModelChoice>,
  models: ModelRegistry,
  requested: RequestedAttributes = {}
): readonly Route[] {
  const { models: attributesByName = {}, agent } = requested
  const sources = [...Object.values(attributesByName), ...[...choiceOf.values()].map(attributesOf)]
  const names = new Set(sources.flatMap(attributes => Object.keys(attributes)))
  if (agent === undefined && names.size === 0) return routes

  const requestedFor = (name: string): Attributes =>
    Object.hasOwn(attributesByName, name) ? (attributesByName[name] ?? {}) : {}
  const candidates = routes.map(route => {
    const choice = choiceOf.get(route.modelId) ?? route.modelId
    const { price, attributes } = models.find(route.modelId) ?? {}
    const cost = costAttribute(price)
    return {
      route,
      // Later entries are more specific and take precedence.
      attributes: {
        ...cost !== undefined && { cost },
        ...attributes,
        ...attributesOf(choice),
        ...requestedFor(route.model),
        ...requestedFor(requestedName(choice)),
        ...requestedFor(route.modelId)
      }
    }
  })
  return rank(candidates, agent, names)
}

/** Returns the attributes that a caller gives a model in addition to its settings. */
function attributesOf (choice: ModelChoice): Attributes {
  return typeof choice === 'string' ? {} : choice.settings?.attributes ?? {}
}

/**
 * Returns the routes this key may use. A name in the key's list allows exactly the models that it refers to;
 * a header may have replaced them.
 *
 * @throws GatewayError `insufficient_permissions` if none is left
 */
function allowed (
  routes: readonly Route[],
  name: string,
  key: ApiKey,
  models: ModelRegistry
): readonly Route[] {
  const modelsOfName = new Set(models.routes(name).map(({ modelId }) => modelId))
  const isListed = listsName(key, name)
  const usable = routes.filter(
    ({ modelId }) => (isListed && modelsOfName.has(modelId)) || mayUseModel(key, modelId)
  )
  if (usable.length > 0) return usable
  // Names only a model that the caller chose, so that the target of an alias is not revealed.
  const [replaced] = modelsBeside(routes, name, models)
  throw new GatewayError('insufficient_permissions', {
    message: `This API key may not use the model ${quote(replaced?.modelId ?? name)}.`, param: 'model'
  })
}

/** Returns the routes to models that a name does not include. */
function modelsBeside (routes: readonly Route[], name: string, models: ModelRegistry): readonly Route[] {
  const ofName = new Set(models.routes(name).map(({ modelId }) => modelId))
  return routes.filter(({ modelId }) => !ofName.has(modelId))
}

function modelNotFound (name: string, models: ModelRegistry): GatewayError {
  const model = models.find(name)
  if (model !== undefined && model.status !== 'disabled') {
    return new GatewayError('model_not_found', {
      message:
        `The model ${quote(name)} is not available: ` +
        `the provider ${quote(model.providerId)} is not enabled here.`,
      param: 'model'
    })
  }
  const suggestion = models.suggest(name)
  const hint = suggestion === undefined ? '' : ` Did you mean ${quote(suggestion)}?`
  return new GatewayError('model_not_found', {
    message: `The model ${quote(name)} does not exist or is not enabled.${hint}`, param: 'model'
  })
}

/** Explains a name that the caller did not write. */
function defaultNotFound (name: string): GatewayError {
  return new GatewayError('model_not_found', {
    message: `\`model\` is required: the default of this endpoint, ${quote(name)}, is not enabled here.`,
    param: 'model'
  })
}

function quote (name: string): string {
  return `\`${shorten(name)}\``
}

function missingModel (): ValidationError {
  return new ValidationError([{ loc: ['body', 'model'], msg: 'Field required', type: 'missing' }])
}
