/** Converts LiteLLM's guardrails to guards, if a guard does the same; others are left to a person. */

import type { LitellmModels } from './litellm-models.ts'
import { entriesOf, isEmpty, isPlainAddress, amountOf, objectOrEmpty } from './values.ts'
import { builtInNames } from '../guards/built-in-patterns.ts'
import { boundedPattern } from '../text/bounded-pattern.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'
import type { ImportPlan, Verdict } from './plan.ts'
import type { ImportedSecrets } from './secrets.ts'
import { listOf, nonEmptyText, type JsonObject } from '../json/type-guards.ts'

export interface GuardrailDeps {
  readonly plan: ImportPlan
  readonly secrets: ImportedSecrets
  /** Models of which a moderation may be one. */
  readonly models: Pick<LitellmModels, 'providers'>
}

interface Guardrail {
  readonly path: string
  readonly name: string
  readonly params: JsonObject
  readonly deps: GuardrailDeps
}

/** A part of the entries of a guard: several where one guardrail does several things. */
interface Made {
  readonly verdict: Verdict
  readonly note: string
  readonly stages: ReadonlyArray<JsonObject & { readonly use: string }>
}

/** The points of each mode; the second column describes the difference. */
const points: ReadonlyMap<string, readonly [at: string, difference?: string]> = new Map([
  ['pre_call', ['request']],
  ['during_call', ['request', 'before the call, not during it']],
  ['post_call', ['answer']],
  ['pre_mcp_call', ['tool_call']],
  ['during_mcp_call', ['tool_call', 'before the tool runs, not meanwhile']],
  ['post_mcp_call', ['tool_result']]
])

/** Patterns that we have as well, though with other expressions. */
const patternNames: ReadonlyMap<string, string> = new Map([
  ['email', 'email'],
  ['credit_card', 'card_number'],
  ['us_ssn', 'us_ssn'],
  ['us_phone', 'phone'],
  ['iban', 'iban'],
  ['eu_iban_enhanced', 'iban'],
  ['ipv4', 'ip_address'],
  ['ipv6', 'ip_address'],
  ['fr_nir', 'fr_insee'],
  ['generic_api_key', 'api_key'],
  ['aws_access_key', 'api_key'],
  ['github_token', 'api_key'],
  ['slack_token', 'api_key']
])

/** Parts of a filter other than patterns. */
const unreadParts = ['categories', 'blocked_words_file', 'competitor_intent_config']
const genericPath = '/beta/litellm_basic_guardrail_api'

const kinds: Readonly<Record<string, (guardrail: Guardrail) => Made | string>> = {
  presidio: readPresidio,
  openai_moderation: readModeration,
  generic_guardrail_api: readGeneric,
  litellm_content_filter: readFilter
}

/** Parameters that a guard has, or that have a note of their own. */
const readParams: Readonly<Record<string, readonly string[]>> & { readonly common: readonly string[] } = {
  common: ['guardrail', 'mode', 'default_on'],
  presidio: [
    'presidio_analyzer_api_base', 'presidio_anonymizer_api_base', 'output_parse_pii', 'presidio_language',
    'presidio_score_thresholds', 'pii_entities_config'
  ],
  openai_moderation: ['model', 'api_key'],
  generic_guardrail_api: [
    'api_base', 'api_key', 'headers', 'additional_provider_specific_params', 'unreachable_fallback',
    'fail_on_error'
  ],
  litellm_content_filter: ['patterns', 'blocked_words', ...unreadParts]
}

export interface ReadGuardrails {
  /** `stages` of the configuration. */
  readonly stages: readonly JsonObject[]
  /** The names of the guards of each guardrail. */
  readonly guardsOf: ReadonlyMap<string, readonly string[]>
}

export function readGuardrails (list: readonly unknown[], deps: GuardrailDeps): ReadGuardrails {
  const names = new Set<string>()
  const guardsOf = new Map<string, readonly string[]>()
  const stages = list.flatMap((entry, index) => {
    const params = objectOrEmpty(objectOrEmpty(entry)['litellm_params'])
    const given = nonEmptyText(objectOrEmpty(entry)['guardrail_name']) ?? `guardrail-${index + 1}`
    const path = `guardrails[${index}]`
    const entries = readGuardrail({ path, name: given, params, deps }, names)
    if (entries.length > 0) guardsOf.set(given, entries.map(stage => String(stage['name'])))
    return entries
  })
  return { stages, guardsOf }
}

function readGuardrail (guardrail: Guardrail, names: Set<string>): JsonObject[] {
  const { path, name, params, deps: { plan } } = guardrail
  const kind = nonEmptyText(params['guardrail']) ?? 'it'
  const read = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined
  const modes = [params['mode'] ?? []].flat().map(String)
  const seen = modes.flatMap(mode => points.get(mode) === undefined ? [] : [points.get(mode) ?? ['request']])
  const entries = seen.length === modes.length && modes.length > 0 ? read?.(guardrail) : undefined
  if (entries === undefined || typeof entries === 'string') {
    plan.note(path, 'manual', `${kind}: ${entries ?? 'see `stages` in docs/guards.md'}`)
    return []
  }
  const at = [...new Set(seen.map(([point]) => point))]
  const differences = seen.flatMap(([, difference]) => difference ?? [])
  const stages = entries.stages.map((stage, index) => {
    const own = freeName(index === 0 ? name : `${name}-${index + 1}`, names)
    return { name: own, at, ...params['default_on'] !== true && { when: 'asked' }, ...stage }
  })
  if (stages[0]?.name !== name) differences.push(`its name is ${String(stages[0]?.name)}`)
  const isExact = entries.verdict === 'exact' && differences.length === 0
  const note = [`guard ${stages.map(stage => stage.name).join(', ')}`, entries.note, ...differences]
  const fields = new Set([...readParams.common, ...readParams[kind] ?? []])
  for (const field of Object.keys(params)) {
    if (params[field] === null || fields.has(field)) continue
    plan.note(`${path}.litellm_params.${field}`, 'unsupported', 'no counterpart: the guard works without it')
  }
  plan.note(path, isExact ? 'exact' : 'approximate', note.filter(text => text !== '').join('; '))
  return stages
}

/** Returns an unused name in the form of guard names. */
function freeName (wanted: string, names: Set<string>): string {
  const base = wanted.toLowerCase().replaceAll(/[^a-z0-9_-]+/g, '-').replace(/^[_-]+/, '').slice(0, 60)
  let name = base === '' ? 'guardrail' : base
  for (let number = 2; names.has(name); number++) name = `${base}-${number}`
  names.add(name)
  return name
}

function readPresidio ({ params, deps: { plan }, path }: Guardrail): Made | string {
  const address = (field: string): string | undefined => {
    const text = nonEmptyText(params[field])
    return text !== undefined && isPlainAddress(text) ? withoutTrailingSlashes(text) : undefined
  }
  const [analyzer, anonymizer] = ['presidio_analyzer_api_base', 'presidio_anonymizer_api_base'].map(address)
  if (analyzer === undefined || anonymizer === undefined) {
    return 'add it by hand, with the addresses of its analyzer and its anonymizer'
  }
  if (params['output_parse_pii'] === true) {
    plan.note(`${path}.litellm_params.output_parse_pii`, 'manual', 'see masking in docs/guards.md')
  }
  const language = nonEmptyText(params['presidio_language'])
  const score = amountOf(objectOrEmpty(params['presidio_score_thresholds'])['ALL'])
  const common = {
    use: 'presidio',
    analyzer_url: analyzer,
    anonymizer_url: anonymizer,
    ...language !== undefined && { language },
    ...score !== undefined && score <= 1 && { score_threshold: score }
  }
  for (const entity of Object.keys(objectOrEmpty(params['presidio_score_thresholds']))) {
    const at = `${path}.litellm_params.presidio_score_thresholds.${entity}`
    if (entity !== 'ALL') plan.note(at, 'unsupported', 'a guard has one `score_threshold` for all entities')
  }
  const byAction = (wanted: string): string[] =>
    entriesOf(params['pii_entities_config']).flatMap(([entity, action]) => action === wanted ? [entity] : [])
  const [masked, blocked] = [byAction('MASK'), byAction('BLOCK')]
  const stages = [
    ...blocked.length > 0 ? [{ ...common, entities: blocked, action: 'refuse' }] : [],
    ...masked.length > 0 ? [{ ...common, entities: masked, action: 'mask' }] : []
  ]
  return { verdict: 'exact', note: '', stages: stages.length > 0 ? stages : [{ ...common, action: 'mask' }] }
}

function readModeration ({ params, deps: { models } }: Guardrail): Made | string {
  const provider = [...models.providers].find(([, { kind }]) => kind === 'openai')?.[0]
  if (provider === undefined) return 'add it by hand: no model of the file is of OpenAI, whose key it needs'
  const model = nonEmptyText(params['model']) ?? 'omni-moderation-latest'
  const note = 'with the key of the models'
  return { verdict: 'exact', note, stages: [{ use: 'moderation', model: `${provider}/${model}` }] }
}

function readGeneric ({ params, path, name, deps: { plan, secrets } }: Guardrail): Made | string {
  const base = nonEmptyText(params['api_base'])
  if (base === undefined || !isPlainAddress(base)) return 'add it by hand, with the address of its service'
  const url = base.endsWith(genericPath) ? base : `${withoutTrailingSlashes(base)}${genericPath}`
  const key = secrets.refer(params['api_key'], `${name}_key`, `${path}.litellm_params.api_key`)
  const headers = {
    ...secrets.referAll(params['headers'], name, `${path}.litellm_params.headers`),
    ...key !== undefined && { 'x-api-key': key }
  }
  if (!isEmpty(objectOrEmpty(params['additional_provider_specific_params']))) {
    const where = `${path}.litellm_params.additional_provider_specific_params`
    plan.note(where, 'manual', 'add it to the guard as `options`, without secrets')
  }
  const passes = params['unreachable_fallback'] === 'fail_open' || params['fail_on_error'] === false
  return {
    verdict: 'exact',
    note: '',
    stages: [{
      use: 'webhook',
      format: 'litellm',
      url,
      ...!isEmpty(headers) && { headers },
      ...passes && { when_unavailable: 'pass' }
    }]
  }
}

/** Patterns and words: those that mask in one guard, those that refuse a call in another. */
function readFilter ({ params }: Guardrail): Made | string {
  const found: Array<{ readonly action: unknown, readonly pattern: unknown }> = []
  for (const entry of listOf(params['patterns']).map(objectOrEmpty)) {
    const ours = patternNames.get(String(entry['pattern_name']))
    const match = nonEmptyText(entry['pattern'])
    const pattern = match === undefined ? ours : ownPattern(entry['name'] ?? 'pattern', match, found.length)
    const shown = nonEmptyText(entry['pattern_name']) ?? match ?? 'one of its patterns'
    if (pattern === undefined) return `add it by hand: ${shown} has no counterpart`
    found.push({ action: entry['action'], pattern })
  }
  for (const entry of listOf(params['blocked_words']).map(objectOrEmpty)) {
    const word = nonEmptyText(entry['keyword'])
    if (word === undefined) continue
    const escaped = word.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
    const pattern = ownPattern('word', `(?i)${escaped}`, found.length)
    if (pattern === undefined) return `add it by hand: the word ${word} has no counterpart`
    found.push({ action: entry['action'], pattern })
  }
  const others = unreadParts.filter(field => !isEmpty(Object(params[field])))
  if (found.length === 0 || others.length > 0) {
    return `add it by hand${others.length > 0 ? `: ${others.join(', ')}` : ''}, see docs/guards.md`
  }
  const stages = [['BLOCK', 'refuse'], ['MASK', 'mask']].flatMap(([wanted, action]) => {
    const patterns = [...new Set(found.filter(each => each.action === wanted).map(({ pattern }) => pattern))]
    return patterns.length === 0 ? [] : [{ use: 'pattern', patterns, action }]
  })
  return { verdict: 'approximate', note: 'patterns with the same name differ in detail', stages }
}

/** Returns an operator's pattern; `undefined` if it is not linear in the length of a text. */
function ownPattern (name: unknown, match: string, index: number): JsonObject | undefined {
  const slug = String(name).toLowerCase().replaceAll(/[^a-z0-9_-]+/g, '-').replace(/^[_-]+/, '')
  try {
    boundedPattern(match, 256)
    const isTaken = slug === '' || builtInNames.some(known => known === slug)
    return { name: `${isTaken ? 'own' : slug}-${index + 1}`, match }
  } catch {
    return undefined
  }
}
