/** Function calls of the history: arguments as an object, with their signature. */

import { GatewayError } from '../../core/errors.ts'
import { thoughtSignature } from '../../chat/thought-signature.ts'
import { objectOf } from '../../json/type-guards.ts'
import { parseBounded } from '../../json/parse-bounded.ts'
import type { Part } from './wire.ts'
import type { ToolCall } from '../../../schemas/messages.ts'

type FunctionToolCall = Extract<ToolCall, { function: unknown }>

/** @param param location of the arguments in the request, for the error */
export function functionCallPart (call: FunctionToolCall, param: string): Part {
  const signature = thoughtSignature(call)
  return {
    functionCall: {
      ...call.id !== '' && { id: call.id },
      name: call.function.name,
      args: argumentsOf(call.function.arguments, param)
    },
    ...signature !== undefined && { thoughtSignature: signature }
  }
}

/** @throws GatewayError `invalid_value` for anything but a JSON object; an empty string means no arguments */
export function argumentsOf (text: string, param: string): Record<string, unknown> {
  if (text.trim() === '') return {}
  let value: unknown
  try {
    value = parseBounded(text)
  } catch (cause) {
    throw notAnObject(param, cause)
  }
  const object = objectOf(value)
  if (object === undefined) throw notAnObject(param, typeof value)
  return object
}

/** Returns the `extra` of a tool call, which carries a signature to the caller and back. */
export function signatureExtra (signature: string): Record<string, unknown> {
  return { extra_content: { google: { thought_signature: signature } } }
}

function notAnObject (param: string, cause: unknown): GatewayError {
  return new GatewayError('invalid_value', {
    message: 'The arguments of a tool call must be a JSON object, as text.', param, cause
  })
}
