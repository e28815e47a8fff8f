import { isObject } from '../../../json/type-guards.ts'
import { parseBounded } from '../../../json/parse-bounded.ts'
import { OpenItem, type ItemListener } from './open-item.ts'

/** The tool of a call, as the caller declared it. */
interface NamedTool {
  readonly name: string
  readonly namespace?: string
}

/** Writes a call of one of the caller's tools. */
export abstract class OpenToolCall extends OpenItem {
  protected readonly callId: string
  protected readonly tool: NamedTool
  protected text = ''

  constructor (listener: ItemListener, callId: string, tool: NamedTool) {
    super(listener)
    this.callId = callId
    this.tool = tool
  }

  /** True if the arguments are a complete JSON object. */
  get isComplete (): boolean {
    return isObject(parsed(this.text))
  }

  abstract write (text: string): void
}

function parsed (text: string): unknown {
  try {
    return parseBounded(text)
  } catch {
    return undefined
  }
}
