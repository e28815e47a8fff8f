/**
 * Guards from the operator's modules. The default export is a `ModuleGuard`, or a function that creates one
 * from the configured `options`.
 * ```js
 * export default { request: texts => texts.map(text => text.replaceAll('Voldemort', 'You-Know-Who')) }
 * ```
 */

import { pathToFileURL } from 'node:url'
import { stat } from 'node:fs/promises'
import { callFacts, type CallFacts } from './call-facts.ts'
import { isObject } from '../json/type-guards.ts'
import { expectRegularFile } from '../net/read-regular-file.ts'
import { loadAjv } from '../validation/load-ajv.ts'
import { guardPoints } from '../../schemas/config/guards.ts'
import type { Batch, RoutedCall } from '../core/call.ts'
import type { ChatEvent } from '../core/events.ts'
import type { GuardSettings } from '../core/settings.ts'
import type { Judge, JudgeContext, TextAtPoint, Verdict } from '../guards/text-judge.ts'
import type { Stage } from '../pipeline/stage.ts'
import type { OpenWork } from './judge-input.ts'

/** What a module exports by default, or what its default export returns; all members are optional. */
export interface ModuleGuard {
  /** Inspects the texts of a request. */
  readonly request?: InspectTexts
  /** Inspects the texts of an answer; of a stream, one window at a time. */
  readonly answer?: InspectTexts
  /** Inspects the arguments of tool calls. */
  readonly tool_call?: InspectTexts
  readonly tool_result?: InspectTexts
  /** A pipeline stage for the call before it is sent: one call in, one out. */
  readonly requestStage?: Stage<RoutedCall<unknown>>
  /** A pipeline stage for the events of a conversation's answer. */
  readonly answerStage?: Stage<Batch<unknown, ChatEvent>>
  /** Releases its resources once no call uses it. */
  readonly close?: () => void | Promise<void>
}

/**
 * Inspects texts, all at the same point of a call.
 *
 * @returns the texts to pass on, same length as the input; or a refusal; or nothing to pass everything on
 *   unchanged. Throwing means that the guard is unavailable.
 */
export type InspectTexts = (
  texts: readonly string[],
  context: ModuleGuardContext
) => ModuleVerdict | Promise<ModuleVerdict>

export type ModuleVerdict = readonly string[] | ModuleRefusal | undefined | void

export interface ModuleRefusal {
  /** Tells the caller what was found, without quoting the text; an empty string gives no reason. */
  readonly refuse: string
}

/** What is known about the call. */
export interface ModuleGuardContext extends CallFacts {
  /** Aborts when the caller disconnects or the guard's timeout expires. */
  readonly signal: AbortSignal
}

/** Creates a module's guard from the configured options. */
export type CreateModuleGuard = (
  options: Readonly<Record<string, unknown>>
) => ModuleGuard | Promise<ModuleGuard>

/**
 * Loads a module. A changed module is reloaded; its imports are not.
 *
 * @param openWork counts the guard's unfinished work
 * @throws any error of the module; that of `expectRegularFile`; TypeError if it exports no guard; Error for
 *   options that violate its `optionsSchema` (JSON Schema)
 */
export async function openModule (
  { name, use: path, options = {} }: GuardSettings,
  openWork: OpenWork
): Promise<Judge> {
  const found = await stat(path)
  expectRegularFile(found) // `import` would wait for the writer of a pipe
  // A module's exports are unknown.
  const { default: exported, optionsSchema } = await import(`${pathToFileURL(path).href}?${found.mtimeMs}`) as {
    readonly default?: unknown
    readonly optionsSchema?: unknown
  }
  if (optionsSchema !== undefined) checkOptions(optionsSchema, options)
  const guard = typeof exported === 'function' ? await (exported as CreateModuleGuard)(options) : exported
  return judgeOf(checkedGuard(guard), counter(name, openWork))
}

/** @throws Error for options that violate the schema, or for an invalid schema */
function checkOptions (schema: unknown, options: Readonly<Record<string, unknown>>): void {
  if (!isObject(schema)) throw new TypeError('`optionsSchema` is not a JSON Schema')
  const Ajv = loadAjv()
  const ajv = new Ajv({ allErrors: true, strict: false })
  const isAllowed = ajv.compile(schema)
  if (!isAllowed(options)) {
    throw new Error(ajv.errorsText(isAllowed.errors, { dataVar: 'options' }))
  }
}

const members = [...guardPoints, 'requestStage', 'answerStage'] as const

function checkedGuard (guard: unknown): ModuleGuard {
  if (!isObject(guard)) {
    throw new TypeError('its default export must be a guard, or a function that returns one')
  }
  for (const name of [...members, 'close']) {
    if (guard[name] !== undefined && typeof guard[name] !== 'function') {
      throw new TypeError(`\`${name}\` of its guard must be a function`)
    }
  }
  if (members.every(name => guard[name] === undefined)) {
    throw new TypeError(`its guard must have at least one of ${members.join(', ')}`)
  }
  return guard
}

/** Counts a piece of work until the returned function is called. */
type CountWork = () => () => void

function counter (name: string, openWork: OpenWork): CountWork {
  return () => {
    openWork.set(name, (openWork.get(name) ?? 0) + 1)
    return () => {
      const left = (openWork.get(name) ?? 0) - 1
      if (left > 0) openWork.set(name, left)
      else openWork.delete(name)
    }
  }
}

function judgeOf (guard: ModuleGuard, begin: CountWork): Judge {
  const { requestStage, answerStage } = guard
  return {
    points: guardPoints.filter(point => guard[point] !== undefined),
    inspect: async (texts, context) => {
      const end = begin()
      try {
        return await inspectEach(guard, texts, context)
      } finally {
        end()
      }
    },
    stages: {
      request: requestStage && counted(requestStage, begin),
      answer: answerStage && counted(answerStage, begin)
    },
    close: async () => await guard.close?.()
  }
}

/** Counts a stage from the first read to the end of the last one. */
function counted<T> (stage: Stage<T>, begin: CountWork): Stage<T> {
  return async function* (source) {
    const end = begin()
    try {
      yield* stage(source)
    } finally {
      end()
    }
  }
}

/** Passes the texts of each point to its function. */
async function inspectEach (
  guard: ModuleGuard,
  texts: readonly TextAtPoint[],
  { call, signal }: JudgeContext
): Promise<Verdict> {
  const context: ModuleGuardContext = { ...callFacts(call), signal }
  const result = texts.map(({ text }) => text)
  for (const point of guardPoints) {
    const numbers = [...texts.keys()].filter(at => texts[at]?.point === point)
    if (numbers.length === 0) continue
    const verdict = await guard[point]?.(numbers.map(at => texts[at]?.text ?? ''), context)
    if (verdict === undefined) continue
    if (isRefusal(verdict)) return { refusal: verdict.refuse }
    if (!Array.isArray(verdict) || verdict.length !== numbers.length) {
      throw new TypeError(`\`${point}\` must return ${numbers.length} texts, \`{ refuse }\` or nothing`)
    }
    for (const [at, number] of numbers.entries()) result[number] = verdict[at] as string // caller checks
  }
  return { texts: result }
}

function isRefusal (verdict: Exclude<ModuleVerdict, void>): verdict is ModuleRefusal {
  return isObject(verdict) && typeof verdict.refuse === 'string'
}
