/**
 * Guards of modules of the operator's own. Their default export is a `ModuleGuard`, or a function that makes
 * one of the `options` of the configuration.
 *
 * ```js
 * export default { request: texts => texts.map(text => text.replaceAll('Voldemort', 'You-Know-Who')) }
 * ```
 */

import { pathToFileURL } from 'node:url'
import { stat } from 'node:fs/promises'
import { callFacts, type CallFacts } from './call-facts.ts'
import { isObject } from '../json/guards.ts'
import { loadAjv } from '../validation/load-ajv.ts'
import { guardPoints } from '../../schemas/config/stages.ts'
import type { Batch } from '../core/batch.ts'
import type { RoutedCall } from '../core/call.ts'
import type { ChatEvent } from '../core/events.ts'
import type { Settings } from '../core/settings.ts'
import type { Judge, JudgeContext, TextAtPoint, Verdict } from '../guards/text-judge.ts'
import type { Stage } from '../pipeline/stage.ts'
import type { OpenWork } from './judge-input.ts'

/** What a module exports: any of these. */
export interface ModuleGuard {
  /** Looks at the texts of a request. */
  readonly request?: LookAtTexts
  /** Looks at the texts of an answer, of a stream at a window of them. */
  readonly answer?: LookAtTexts
  /** Looks at what tools are called with. */
  readonly tool_call?: LookAtTexts
  /** Looks at what tools return. */
  readonly tool_result?: LookAtTexts
  /** A stage that the call passes before it is sent: one call in, one out. */
  readonly requestStage?: Stage<RoutedCall<unknown>>
  /** A stage that the events of a conversation's answer pass. */
  readonly answerStage?: Stage<Batch<unknown, ChatEvent>>
  /** Releases what it holds, once no call uses it any more. */
  readonly close?: () => void | Promise<void>
}

/**
 * Looks at texts, all of one point of a call.
 *
 * @returns the texts as they may go on, as many as were given; or what refuses the call; or nothing, where
 *   all may go on as it is. What it throws means that it could not look.
 */
export type LookAtTexts = (
  texts: readonly string[],
  context: ModuleGuardContext
) => OwnVerdict | Promise<OwnVerdict>

export type OwnVerdict = readonly string[] | OwnRefusal | undefined | void

export interface OwnRefusal {
  /** Says to the caller what was found, without the text; the empty text says nothing. */
  readonly refuse: string
}

/** What is known of the call. */
export interface ModuleGuardContext extends CallFacts {
  /** Aborts when the caller has gone or the time of the guard is over. */
  readonly signal: AbortSignal
}

/** Makes the guard of a module from the options of the configuration. */
export type CreateModuleGuard = (
  options: Readonly<Record<string, unknown>>
) => ModuleGuard | Promise<ModuleGuard>

/**
 * Loads a module. One that has changed since it was loaded is loaded anew; what it imports is not.
 *
 * @param openWork counts what the guard has begun and not ended
 * @throws whatever the module throws; TypeError for one that exports no guard; Error for options that its
 *   `optionsSchema` (JSON Schema) does not allow
 */
export async function openModule (
  { name, use: path, options = {} }: Settings['stages'][number],
  openWork: OpenWork
): Promise<Judge> {
  const { mtimeMs } = await stat(path)
  // A module is whatever its author exports.
  const { default: exported, optionsSchema } = await import(`${pathToFileURL(path).href}?${mtimeMs}`) as {
    readonly default?: unknown
    readonly optionsSchema?: unknown
  }
  if (optionsSchema !== undefined) checkOptions(optionsSchema, options)
  const stage = typeof exported === 'function' ? await (exported as CreateModuleGuard)(options) : exported
  return judgeOf(checkedStage(stage), counter(name, openWork))
}

/** @throws Error for options that the schema does not allow, or for an invalid schema */
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

function checkedStage (stage: unknown): ModuleGuard {
  if (!isObject(stage)) {
    throw new TypeError('its default export must be a stage, or a function that returns one')
  }
  for (const name of [...members, 'close']) {
    if (stage[name] !== undefined && typeof stage[name] !== 'function') {
      throw new TypeError(`\`${name}\` of its stage must be a function`)
    }
  }
  if (members.every(name => stage[name] === undefined)) {
    throw new TypeError(`its stage must have at least one of ${members.join(', ')}`)
  }
  return stage
}

/** Counts a piece of work, until the returned function is called. */
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

function judgeOf (stage: ModuleGuard, begin: CountWork): Judge {
  const { requestStage, answerStage } = stage
  return {
    points: guardPoints.filter(point => stage[point] !== undefined),
    look: async (texts, context) => {
      const end = begin()
      try {
        return await lookAtEach(stage, texts, context)
      } finally {
        end()
      }
    },
    stages: {
      request: requestStage && counted(requestStage, begin),
      answer: answerStage && counted(answerStage, begin)
    },
    close: async () => await stage.close?.()
  }
}

/** Counts a stage from the first read of it to the end of the last. */
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

/** Has the function of each point look at its texts. */
async function lookAtEach (
  stage: ModuleGuard,
  texts: readonly TextAtPoint[],
  { call, signal }: JudgeContext
): Promise<Verdict> {
  const context: ModuleGuardContext = { ...callFacts(call), signal }
  const result = texts.map(({ text }) => text)
  for (const point of guardPoints) {
    const numbers = [...texts.keys()].filter(at => texts[at]?.point === point)
    if (numbers.length === 0) continue
    const verdict = await stage[point]?.(numbers.map(at => texts[at]?.text ?? ''), context)
    if (verdict === undefined) continue
    if (isRefusal(verdict)) return { refusal: verdict.refuse }
    if (!Array.isArray(verdict) || verdict.length !== numbers.length) {
      throw new TypeError(`\`${point}\` must return ${numbers.length} texts, \`{ refuse }\` or nothing`)
    }
    for (const [at, number] of numbers.entries()) result[number] = verdict[at] as string // its caller checks
  }
  return { texts: result }
}

function isRefusal (verdict: Exclude<OwnVerdict, void>): verdict is OwnRefusal {
  return isObject(verdict) && typeof verdict.refuse === 'string'
}
