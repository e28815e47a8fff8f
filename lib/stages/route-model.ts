/**
 * Which providers and models may answer a call, best first.
 *
 * The model comes as an id, as `{ model, settings }` or as a list of either. A caller may also
 * choose the provider by header, and bring a key of their own for it (`stages/provider-choice`).
 */

import type { Static } from 'typebox'
import type { ModelChoice } from '../../schemas/chat.ts'
import type { ApiKey, Route, RoutedCall, ValidCall } from '../call.ts'
import { GatewayError, ValidationError } from '../errors.ts'
import { unique } from '../models/model-index.ts'
import type { Models } from '../models/models.ts'
import { mayUse } from '../models/scope.ts'
import type { Providers } from '../services.ts'
import { perCall, type Stage } from '../stage.ts'
import { checkOneProvider, providerChoice, routesByChoice } from './provider-choice.ts'

type Choice = Static<typeof ModelChoice>

/** Any request that may name its model. */
export interface ModelRequest {
  readonly model?: Choice | readonly Choice[] | null | undefined
}

export interface RouteModelOptions<R> {
  /** The model of a request that names none. Default: there must be one. */
  readonly defaultModel?: (request: R) => string
  /** What of `{ model, settings }` holds for this endpoint. Default: nothing. */
  readonly settings?: (given: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
}

/**
 * Makes the stage that chooses the routes. One routed call per call, with at least one route and
 * no model twice. A list with an unknown model is refused as a whole: a mistyped name would
 * otherwise show only on the day when the others fail.
 *
 * @throws GatewayError `model_not_found`, `insufficient_permissions`, `unknown_provider`,
 *   `invalid_value`; ValidationError for a request without model.
 */
export function routeModel<R extends ModelRequest> (
  models: Models,
  providers: Providers,
  { defaultModel, settings }: RouteModelOptions<R> = {}
): Stage<ValidCall<R>, RoutedCall<R>> {
  return perCall(call => {
    const choices = choicesOf(call.request.model ?? defaultModel?.(call.request))
    call.record.requestedModel = choices.map(nameOf).join(', ').slice(0, 256)

    const byHeader = providerChoice(call.headers, providers)
    const routes: Route[] = []
    for (const choice of choices) {
      const name = nameOf(choice)
      const found = byHeader === undefined
        ? models.routes(name)
        : routesByChoice(byHeader, name, models, providers)
      if (found.length === 0) throw modelNotFound(name, models)
      for (const route of allowed(found, name, call.key)) routes.push(withSettings(route, choice, settings))
    }
    if (byHeader?.key !== undefined) {
      checkOneProvider(routes)
      call.record.ownProviderKey = true
    }

    const [first, ...others] = routes.length > 1 ? unique(routes) : routes
    // Every choice has given at least one route, and there is at least one choice.
    if (first === undefined) throw missingModel()
    return {
      routes: [first, ...others],
      ...byHeader?.key !== undefined && { providerKey: byHeader.key },
      ...call
    }
  })
}

function choicesOf (model: ModelRequest['model']): readonly Choice[] {
  if (model === undefined || model === null) throw missingModel()
  return isList(model) ? model : [model]
}

/** `Array.isArray` does not narrow a readonly array. */
function isList (model: Choice | readonly Choice[]): model is readonly Choice[] {
  return Array.isArray(model)
}

function nameOf (choice: Choice): string {
  return typeof choice === 'string' ? choice : choice.model
}

function withSettings (route: Route, choice: Choice, read: RouteModelOptions<never>['settings']): Route {
  if (typeof choice === 'string' || choice.settings == null || read === undefined) return route
  return { ...route, settings: read(choice.settings) }
}

/**
 * The routes this key may take: all when the key may use the name that was asked for, be it a
 * model or a configured route, else those whose model it may use.
 */
function allowed (routes: readonly Route[], name: string, key: ApiKey): readonly Route[] {
  if (mayUse(key, name)) return routes
  const usable = routes.filter(({ modelId }) => mayUse(key, modelId))
  if (usable.length > 0) return usable
  throw new GatewayError('insufficient_permissions', {
    message: `This API key may not use the model ${quote(name)}.`, param: 'model'
  })
}

function modelNotFound (name: string, models: Models): GatewayError {
  const suggestion = models.suggest(name)
  const hint = suggestion === undefined ? '' : ` Did you mean ${quote(suggestion)}?`
  return new GatewayError('model_not_found', {
    message: `The model ${quote(name)} does not exist or is not enabled.${hint}`, param: 'model'
  })
}

/** What callers wrote goes back to them shortened: it may be of any length. */
function quote (name: string): string {
  return `\`${name.length > 100 ? `${name.slice(0, 100)}…` : name}\``
}

function missingModel (): ValidationError {
  return new ValidationError([{ loc: ['body', 'model'], msg: 'Field required', type: 'missing' }])
}
