/**
 * The provider behind the gateways that `headgate bench` compares. It costs next to nothing, and counts its
 * answers, which gives the real cost of the calls. It runs in a thread, so that neither it nor the callers
 * delay each other.
 */

import { Worker } from 'node:worker_threads'
import { eventCount, type AnswerUsage } from './answers.ts'

/** Dollars per million tokens. */
export const simulatedPrice = { input: 2, cached_input: 0.5, output: 8 }

/** The usage of every answer. It has cached tokens, which gateways tend to miscount. */
export const simulatedUsage: AnswerUsage = {
  prompt_tokens: 220,
  prompt_tokens_details: { cached_tokens: 100 },
  completion_tokens: eventCount,
  total_tokens: 220 + eventCount
}

/** Billionths of a dollar. */
export const nanoUsdPerCall = nanoUsdOf(simulatedUsage)

function nanoUsdOf (
  { prompt_tokens: prompt, completion_tokens: output, prompt_tokens_details: details }: AnswerUsage
): number {
  const cached = details?.cached_tokens ?? 0
  const { input, cached_input: cachedInput, output: outputPrice } = simulatedPrice
  return 1_000 * ((prompt - cached) * input + cached * cachedInput + output * outputPrice)
}

/** Milliseconds until the answers of `budgetLane`: long enough for all its calls to be open together. */
export const waitMs = 1_000

/** The models of the provider, each with the shape of its answers. */
export const simulatedModels = ['json', 'eights', 'paced-5', `wait-${waitMs}`] as const
export type SimulatedModel = (typeof simulatedModels)[number]

export interface SimulatorData {
  readonly host: string
  readonly port: number
  /** Answered calls, in its first element. */
  readonly answered: SharedArrayBuffer
}

export type SimulatorMessage = { readonly port: number } | { readonly error: string }

export interface SimulatedProvider {
  readonly port: number
  /** Returns the number of calls so far. */
  readonly calls: () => number
  readonly close: () => Promise<void>
}

/** @throws Error with the reason why it cannot listen */
export async function startSimulatedProvider (
  { host, port }: Pick<SimulatorData, 'host' | 'port'>
): Promise<SimulatedProvider> {
  const answered = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  const workerData: SimulatorData = { host: host.replace(/^\[|\]$/g, ''), port, answered }
  const options = { workerData, env: {}, execArgv: [] }
  const thread = new Worker(new URL('./simulator-thread.js', import.meta.url), options)
  const message = await new Promise<SimulatorMessage>((resolve, reject) => {
    thread.once('message', resolve)
    thread.once('error', reject)
  })
  const close = async (): Promise<void> => { await thread.terminate() }
  if ('error' in message) {
    await close()
    throw new Error(message.error)
  }
  const counter = new Int32Array(answered)
  return { port: message.port, calls: () => Atomics.load(counter, 0), close }
}
