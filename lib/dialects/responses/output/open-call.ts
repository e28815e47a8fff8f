import { OpenItem, type ItemListener } from './open-item.ts'

/** The tool of a call, as the caller declared it. */
interface NamedTool {
  readonly name: string
  readonly namespace?: string
}

/** Writes a call of a tool of the caller's. */
export abstract class OpenCall extends OpenItem {
  protected readonly callId: string
  protected readonly tool: NamedTool
  protected text = ''

  constructor (listener: ItemListener, callId: string, tool: NamedTool) {
    super(listener)
    this.callId = callId
    this.tool = tool
  }

  abstract write (text: string): void
}
