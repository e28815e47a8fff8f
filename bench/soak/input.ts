import { eventually } from './scenario.ts'
import type { World } from './world.ts'

/** A request that is expensive for a gateway. */
export interface Input {
  readonly name: string
  readonly path: string | (() => string)
  /** Default: POST. */
  readonly method?: 'GET' | 'DELETE'
  readonly body?: () => Buffer | FormData
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Inspects an answer.
   * @returns the address of one that is fetched later, which is waited for
   */
  readonly later?: (answer: Record<string, unknown>) => string | undefined
}

/** @returns the status, or `closed` if the connection closed before the body was sent */
export async function send (
  world: World,
  { path, method, body = () => Buffer.alloc(0), headers = {}, later }: Input
): Promise<number | 'closed'> {
  const address = typeof path === 'string' ? path : path()
  const content = body()
  try {
    if (!Buffer.isBuffer(content)) return (await world.postForm(address, content)).status
    const { status, text } =
      method === undefined
        ? await world.post(address, content, { headers })
        : await world.ask(method, address)
    const awaited = status === 200 ? later?.(JSON.parse(text) as Record<string, unknown>) : undefined
    if (awaited !== undefined && !await eventually(async () => await world.isReady(awaited))) {
      throw new Error(`no answer at ${awaited}`)
    }
    return status
  } catch {
    return 'closed'
  }
}
