/**
 * Reads `generation_config`, which replaces the other fields of a request at Google, entry by entry. The
 * provider takes each name in two spellings, and numbers as text.
 */

import { objectOf } from '../json/guards.ts'
import type { ChatInput } from './input.ts'

/** The fields of a request that say the same as an entry. */
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
  thinkingConfig: ['reasoning_effort']
}))

export interface GenerationBounds {
  /**
   * The most tokens of a choice; `Infinity` for a value that is no bound. Absent: the other fields decide.
   */
  readonly maxTokens?: number
  /** Absent also for a value that is no number of choices: the other fields decide. */
  readonly choices?: number
}

/** Returns the spelling in camelCase. */
export function camelName (name: string): string {
  return name.replace(/(?<=.)_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** Reads what a config allows. As everywhere in a request, null says the same as leaving an entry out. */
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

/** Returns the most choices that a request may get, whichever provider answers. */
export function maxChoicesOf ({
  n = 1,
  generation_config: config
}: Pick<ChatInput, 'n' | 'generation_config'>): number {
  return config === undefined ? n : Math.max(n, generationBounds(config).choices ?? 1)
}

/** Lowers the bound of the tokens, if there is one, to so many. */
export function withLowerBound (config: unknown, maxTokens: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(objectOf(config) ?? {}).map(([name, value]) => {
      const isLonger =
        value !== null && camelName(name) === 'maxOutputTokens' && (countOf(value) ?? Infinity) > maxTokens
      return [name, isLonger ? maxTokens : value]
    })
  )
}

/** Leaves out what the fields of a request say. */
export function withoutFieldsOf (config: unknown, request: object): Record<string, unknown> {
  return filtered(
    config,
    name => sameFields.get(name)?.some(field => Reflect.get(request, field) !== undefined) !== true
  )
}

/** Leaves out an entry in any spelling. @param omitted in camelCase */
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

/** Returns a count; `undefined` for what is none, and for 0, which the provider reads as unset. */
function countOf (value: unknown): number | undefined {
  const count = typeof value === 'number' || typeof value === 'string' ? Number(value) : 0
  return count > 0 && count < Infinity ? count : undefined
}
