import { isObject } from '../../../json/type-guards.ts'
import { parseBounded } from '../../../json/parse-bounded.ts'
import { itemId } from '../item-ids.ts'
import { OpenToolCall } from './open-tool-call.ts'
import type { OutputItem } from '../../../../schemas/response-items.ts'

type CustomCall = Extract<OutputItem, { type: 'custom_tool_call' }>

/** Writes a custom tool call, whose input arrives as a single function argument, once it is complete. */
export class OpenCustomCall extends OpenToolCall {
  readonly id = itemId('ctc')

  write (text: string): void {
    this.text += text
  }

  protected opening (): CustomCall {
    return this.#item('in_progress', '')
  }

  protected close (): void {
    const input = inputOf(this.text)
    if (input !== '') this.event('response.custom_tool_call_input.delta', { delta: input })
    this.event('response.custom_tool_call_input.done', { input })
  }

  protected complete (): CustomCall {
    return this.#item(this.status, inputOf(this.text))
  }

  #item (status: CustomCall['status'], input: string): CustomCall {
    const { name, namespace } = this.tool
    return {
      id: this.id,
      type: 'custom_tool_call',
      status,
      call_id: this.callId,
      name,
      ...namespace !== undefined && { namespace },
      input
    }
  }
}

/** Returns the argument `input`; some models write the input itself instead. */
function inputOf (argumentsText: string): string {
  try {
    const value: unknown = parseBounded(argumentsText)
    return isObject(value) && typeof value['input'] === 'string' ? value['input'] : argumentsText
  } catch {
    return argumentsText // truncated or invalid JSON
  }
}
