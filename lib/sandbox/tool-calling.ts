/**
 * Decides which tools the sandbox calls, and with which arguments.
 *
 * A tool is called if the question names it (`use get_weather with {"city":"Paris"}`), or else if the
 * question has the words of its name (`What is the weather in Paris?`); several are called in parallel.
 * `tool_choice` and `parallel_tool_calls` are obeyed.
 */

import { nonEmptyText, property } from '../json/type-guards.ts'
import { hintsIn } from './hints.ts'
import { jsonFromSchema } from './json-from-schema.ts'
import { SandboxRefusal } from './sandbox-refusal.ts'
import type { ChatBody } from './chat-body.ts'
import type { Question } from './last-message.ts'

export type ToolKind = 'function' | 'custom' | 'legacy'

export interface Tool {
  readonly kind: ToolKind
  readonly name: string
  readonly parameters: unknown
}

export interface PlannedCall {
  readonly kind: ToolKind
  readonly name: string
  /** JSON of the arguments, or the input of a custom tool. */
  readonly text: string
}

interface Choice {
  readonly mode: 'none' | 'auto' | 'required'
  /** The tools that may be called; all of them when absent. */
  readonly only?: readonly string[]
}

/** Words in names of tools that do not describe their subject. */
const verbs = new Set([
  'get',
  'set',
  'list',
  'fetch',
  'find',
  'read',
  'create',
  'make',
  'run',
  'do',
  'call',
  'use',
  'tool',
  'current',
  'the'
])

// Tools are looked for in so much of a question; what follows is pasted material.
const maxDirectiveLength = 20_000

/**
 * Returns the calls of this turn; none when the answer is a text.
 *
 * @param rounds in how many turns the tools that are requested get called
 * @throws SandboxRefusal 400 when `tool_choice` names a tool that is not offered
 */
export function planCalls (body: ChatBody, original: Question, rounds: number): PlannedCall[] {
  const question = { ...original, text: original.text.slice(0, maxDirectiveLength) }
  const offered = offeredTools(body)
  const { mode, only } = choiceOf(body)
  const missing = only?.find(name => !offered.some(tool => tool.name === name))
  if (missing !== undefined) {
    throw new SandboxRefusal(400, `The tool '${missing}' is not among the tools of this request.`, {
      param: 'tool_choice'
    })
  }
  const tools = offered.filter(tool => only === undefined || only.includes(tool.name))
  const [first] = tools
  if (mode === 'none' || first === undefined) return []

  const requested = named(tools, question)
  const planned = requested.length > 0 ? requested : toolsByWords(tools, question)
  const parallel = body.parallel_tool_calls !== false && first.kind !== 'legacy'
  const now = parallel ? together(planned, question.turn, rounds) : oneByOne(planned, question.turn, rounds)
  if (now.length > 0 || mode === 'auto') return now
  return [planned[0] ?? synthesised(first, question)]
}

/** Returns true when the request forces this very tool: OpenAI then ends with `stop`, not `tool_calls`. */
export function forcesOneTool ({ tool_choice: choice }: ChatBody): boolean {
  return ['function', 'custom'].includes(String(property(choice, 'type')))
}

function together (planned: PlannedCall[], turn: number, rounds: number): PlannedCall[] {
  return turn <= rounds ? planned : []
}

function oneByOne (planned: PlannedCall[], turn: number, rounds: number): PlannedCall[] {
  const call = planned[(turn - 1) % planned.length]
  return call !== undefined && turn <= planned.length * rounds ? [call] : []
}

function offeredTools ({ tools, functions }: ChatBody): Tool[] {
  const modern = (tools ?? []).map((tool): Tool => 'custom' in tool
    ? { kind: 'custom', name: tool.custom.name, parameters: undefined }
    : { kind: 'function', name: tool.function.name, parameters: tool.function.parameters })
  if (modern.length > 0) return modern
  return (functions ?? []).map(({ name, parameters }) => ({ kind: 'legacy', name, parameters }))
}

function choiceOf ({ tool_choice: choice, function_call: legacy }: ChatBody): Choice {
  const requested = choice ?? legacy ?? 'auto'
  if (requested === 'none' || requested === 'auto' || requested === 'required') return { mode: requested }
  if (typeof requested === 'string') return { mode: 'required', only: [requested] }
  if ('function' in requested) return { mode: 'required', only: [requested.function.name] }
  if ('custom' in requested) return { mode: 'required', only: [requested.custom.name] }
  if ('allowed_tools' in requested) {
    const { mode, tools } = requested.allowed_tools
    return { mode, only: tools.map(allowedName) }
  }
  return 'name' in requested ? { mode: 'required', only: [requested.name] } : { mode: 'auto' }
}

function allowedName (tool: Readonly<Record<string, unknown>>): string {
  const inner = tool['function'] ?? tool['custom'] ?? tool
  return nonEmptyText(property(inner, 'name')) ?? ''
}

/** Returns the tools the question names, in its order; the same call is made once. */
function named (tools: readonly Tool[], question: Question): PlannedCall[] {
  const found: Array<{ at: number, call: PlannedCall }> = []
  for (const tool of tools) {
    const name = new RegExp(`(?<![\\w-])${escaped(tool.name)}(?![\\w-])`, 'gi')
    for (const { 0: match, index } of question.text.matchAll(name)) {
      found.push({ at: index, call: callAt(tool, question, index + match.length) })
    }
  }
  found.sort((a, b) => a.at - b.at)
  const seen = new Set<string>()
  return found.map(({ call }) => call).filter(({ name, text }) => {
    const key = `${name} ${text}`
    const fresh = !seen.has(key)
    seen.add(key)
    return fresh
  })
}

/** Returns the tools whose words are all in the question. */
function toolsByWords (tools: readonly Tool[], question: Question): PlannedCall[] {
  // An identifier is one word here: `forget_weather` does not ask for the weather.
  const words = new Set(question.text.toLowerCase().match(/[\p{L}\p{N}_]+/gu))
  return tools
    .filter(({ name }) => {
      const all = wordsOf(name)
      const specific = all.filter(word => !verbs.has(word))
      const needed = specific.length > 0 ? specific : all
      return needed.length > 0 && needed.every(word => words.has(word))
    })
    .map(tool => synthesised(tool, question))
}

/** `getWeather`, `get_weather` and `get-weather` are `get` and `weather`. */
function wordsOf (name: string): string[] {
  return name.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

/** Returns a call with the text after its name: JSON, or for a custom tool a quote; else made up. */
function callAt (tool: Tool, question: Question, from: number): PlannedCall {
  const rest = question.text.slice(from)
  const prefix =
    /^[`"']?\s*(?:tool|function)?[\s:(,]*(?:with|using)?\s*(?:(?:the )?(?:arguments?|input))?[\s:]*/i.exec(
      rest
    )?.[0] ?? ''
  const given = rest.slice(prefix.length)
  const { kind, name } = tool
  if (given.startsWith('{')) return { kind, name, text: balanced(given) }
  const quoted = /^["\u201c]([^"\u201d]*)["\u201d]/.exec(given)?.[1]
  if (kind === 'custom' && quoted !== undefined) return { kind, name, text: quoted }
  return synthesised(tool, question)
}

function synthesised ({ kind, name, parameters }: Tool, question: Question): PlannedCall {
  if (kind === 'custom') return { kind, name, text: question.text }
  const value = parameters === undefined || parameters === null
    ? {}
    : jsonFromSchema(parameters, { optional: false, hints: hintsIn(question.text) })
  return { kind, name, text: JSON.stringify(value) }
}

/** Cuts the text after the brace that closes the first one, not counting those inside strings. */
function balanced (text: string): string {
  let depth = 0
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (quoted && char === '\\') i++
    else if (char === '"') quoted = !quoted
    else if (!quoted && char === '{') depth++
    else if (!quoted && char === '}' && --depth === 0) return text.slice(0, i + 1)
  }
  return text
}

function escaped (text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
}
