/**
 * Reads `generation_config`, whose entries override other fields of a request at Google. The provider accepts
 * two spellings of each name, and numbers as strings.
 */

import { objectOf } from '../json/type-guards.ts'
import type { ChatInput } from './input.ts'

/** Request fields equivalent to each entry. */
const sameFields: ReadonlyMap<string, readonly string[]> = new Map(Object.entries({
  maxOutputTokens: ['max_completion_tokens', 'max_tokens'],
  candidateCount: ['n'],
  temperature: ['temperature'],
  topP: ['top_p'],
  topK: ['top_k'],
  stopSequences: ['stop'],
  seed: ['seed'],
  presencePenalty: ['presence_penalty'],
  frequencyPenalty: ['frequency_penalty'],
  responseLogprobs: ['logprobs'],
  logprobs: ['top_logprobs'],
  thinkingConfig: ['reasoning_effort'],
  responseMimeType: ['response_format'],
  responseSchema: ['response_format'],
  responseJsonSchema: ['response_format']
}))

export interface GenerationBounds {
  /** Maximum tokens per choice; `Infinity` for a value that sets no limit. Absent: other fields decide. */
  readonly maxTokens?: number
  /** Absent if missing or invalid: other fields decide. */
  readonly choices?: number
}

/** Returns the name in camelCase. */
export function camelName (name: string): string {
  return name.replace(/(?<=.)_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** Reads the limits of a config; null is the same as absent. */
export function generationBounds (config: unknown): GenerationBounds {
  const bounds: { maxTokens?: number, choices?: number } = {}
  for (const [name, value] of Object.entries(objectOf(config) ?? {})) {
    if (value === null) continue
    switch (camelName(name)) {
      case 'maxOutputTokens': bounds.maxTokens = countOf(value) ?? Infinity; break
      case 'candidateCount': Object.assign(bounds, choicesOf(value)); break
      default:
    }
  }
  return bounds
}

/** Returns the maximum number of choices, whichever provider answers. */
export function maxChoicesOf ({
  n = 1,
  generation_config: config
}: Pick<ChatInput, 'n' | 'generation_config'>): number {
  return config === undefined ? n : Math.max(n, generationBounds(config).choices ?? 1)
}

/** Lowers the token limit, if there is one, to `maxTokens`. */
export function withLowerBound (config: unknown, maxTokens: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(objectOf(config) ?? {}).map(([name, value]) => {
      const isLonger =
        value !== null && camelName(name) === 'maxOutputTokens' && (countOf(value) ?? Infinity) > maxTokens
      return [name, isLonger ? maxTokens : value]
    })
  )
}

/** Drops entries whose equivalent is set in the request. */
export function withoutFieldsOf (config: unknown, request: object): Record<string, unknown> {
  return filtered(
    config,
    name => sameFields.get(name)?.some(field => Reflect.get(request, field) !== undefined) !== true
  )
}

/** Drops an entry in any spelling. @param omitted in camelCase */
export function withoutEntry (config: unknown, omitted: string): Record<string, unknown> {
  return filtered(config, name => name !== omitted)
}

function filtered (config: unknown, isKept: (name: string) => boolean): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(objectOf(config) ?? {}).filter(([name]) => isKept(camelName(name)))
  )
}

function choicesOf (value: unknown): Pick<GenerationBounds, 'choices'> {
  const choices = countOf(value)
  return choices === undefined ? {} : { choices }
}

/** Returns a count; `undefined` for invalid values and for 0, which the provider treats as unset. */
function countOf (value: unknown): number | undefined {
  const count = typeof value === 'number' || typeof value === 'string' ? Number(value) : 0
  return count > 0 && count < Infinity ? count : undefined
}
