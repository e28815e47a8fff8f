import { itemId } from '../item-ids.ts'
import { OpenToolCall } from './open-tool-call.ts'
import type { OutputItem } from '../../../../schemas/response-items.ts'

type FunctionCall = Extract<OutputItem, { type: 'function_call' }>

/** Writes a function call while its arguments arrive. */
export class OpenFunctionCall extends OpenToolCall {
  readonly id = itemId('fc')

  write (text: string): void {
    if (text === '') return
    this.text += text
    this.step(() => this.event('response.function_call_arguments.delta', { delta: text }))
  }

  protected opening (): FunctionCall {
    return this.#item('in_progress', '')
  }

  protected close (): void {
    if (this.text === '') this.write('{}')
    this.event('response.function_call_arguments.done', { name: this.tool.name, arguments: this.text })
  }

  protected complete (): FunctionCall {
    return this.#item(this.status, this.text)
  }

  #item (status: FunctionCall['status'], text: string): FunctionCall {
    const { name, namespace } = this.tool
    return {
      id: this.id,
      type: 'function_call',
      status,
      call_id: this.callId,
      name,
      ...namespace !== undefined && { namespace },
      arguments: text
    }
  }
}
