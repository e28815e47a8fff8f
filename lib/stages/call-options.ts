import type { Call, ValidCall } from '../core/call.ts'
import { map, type PassThroughStage } from '../pipeline/stage.ts'
import { usageCostOf } from '../usage/usage-row.ts'
import type { CallOptionFields } from '../../schemas/call-options.ts'
import type { ModelChoice } from '../../schemas/chat.ts'
import { noteIgnored } from '../core/record.ts'
import type { Services } from '../services.ts'

interface Request extends CallOptionFields {
  readonly model?: ModelChoice | readonly ModelChoice[] | null | undefined
}

/** The schema of an object; only the names of its fields matter. */
interface FieldNames { readonly properties: object }

/**
 * Applies the options of a request (`schemas/call-options`): one call in, the same call out.
 *
 * @param schema the schema of requests. Fields outside it have no effect unless a provider takes them
 *   (`quirks.extra_fields`); the record of the call lists them. Default: unknown fields are not reported.
 */
export function callOptions (
  { models, providers, settings }: Pick<Services, 'models' | 'providers' | 'settings'>, schema?: FieldNames
): PassThroughStage<ValidCall<Request>> {
  const fieldNames = schema && new Set([
    ...Object.keys(schema.properties),
    ...settings.providers.flatMap(({ id }) => providers.get(id)?.quirks.extraFields ?? [])
  ])
  // Nothing has checked an option that the schema lacks.
  const hasOption = (name: keyof CallOptionFields): boolean =>
    schema === undefined || Object.hasOwn(schema.properties, name)
  const [hasFallbacks, hasUsage] = [hasOption('fallbacks'), hasOption('usage')]
  const keepsAnswers = settings.cache.answers !== undefined
  return map(<T extends ValidCall<Request>>(call: T): T => {
    const { request, record } = call
    if (fieldNames !== undefined) {
      for (const name in request) if (!fieldNames.has(name)) noteIgnored(record.request, name)
    }
    const { model, num_retries: maxRetries, timeout } = request
    const fallbacks = hasFallbacks ? request.fallbacks : undefined
    const includesCost = hasUsage && request.usage?.include === true
    if (request.drop_params === false) noteIgnored(record.request, 'drop_params')
    if (!keepsAnswers && request.cache !== undefined) noteIgnored(record.request, 'cache')
    if (timeout !== undefined) call.shortenDeadline?.(timeout * 1000)
    const showsCost = includesCost && !record.cost.isHidden
    if (includesCost && record.cost.isHidden) noteIgnored(record.request, 'usage')
    const usageCost = showsCost ? (answered: Call) => usageCostOf(answered, models) : undefined
    if (fallbacks === undefined && maxRetries === undefined && usageCost === undefined) return call
    const names = fallbacks === undefined ? [] : fallbackNames(fallbacks, model)
    const fields = { options: { fallbacks: names, maxRetries, usageCost } }
    return Object.assign(call, fields satisfies Pick<ValidCall<Request>, 'options'>)
  })
}

function fallbackNames (fallbacks: NonNullable<Request['fallbacks']>, model: Request['model']): string[] {
  const requested = new Set(
    [model ?? []].flat().map(choice => (typeof choice === 'string' ? choice : choice.model))
  )
  return fallbacks.flatMap(fallback => {
    if (typeof fallback === 'string') return fallback
    if (typeof fallback['model'] === 'string') return fallback['model']
    return Object.entries(fallback).flatMap(([name, others]) =>
      name === '*' || requested.has(name) ? others : []
    )
  })
}
