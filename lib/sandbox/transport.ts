/**
 * Answers in-process like a provider of the chat-completions dialect, without network.
 *
 * It is only a transport: a call to it passes the same stages and the same adapter as any other call, and its
 * answers arrive as bytes.
 */

import { GatewayError } from '../core/errors.ts'
import { Clock } from './clock.ts'
import { sandboxOptions } from './options.ts'
import { routes } from './routes.ts'
import { SandboxRefusal } from './sandbox-refusal.ts'
import { ScriptBody } from './script-body.ts'
import type { SandboxOptions } from './options.ts'
import type { Script } from './script.ts'
import type { SendOptions, Transport, UpstreamRequest } from '../providers/provider.ts'

/**
 * @param options `options` of the provider's settings: `words_per_second`
 * @throws Error for an invalid option
 */
export function sandboxTransport (options: Readonly<Record<string, unknown>> = {}): Transport {
  const checked = sandboxOptions(options)
  return {
    send: async (request, sendOptions) => {
      const { signal, timeouts, onSent } = sendOptions
      signal.throwIfAborted()
      onSent?.()
      const { before, status, headers, body } = await scriptFor(request, checked, sendOptions)
      const clock = new Clock(signal)
      for (const step of before) {
        if (step.type === 'pause') await clock.pause(step.ms, headLimitMs(sendOptions))
        if (step.type === 'lose') throw new GatewayError('upstream_unreachable')
      }
      return { status, headers, body: new ScriptBody(body, clock, timeouts.idleBytesMs) }
    }
  }
}

function headLimitMs ({ streamed, timeouts }: SendOptions): number {
  return streamed ? timeouts.firstByteMs : timeouts.responseMs
}

async function scriptFor (
  request: UpstreamRequest,
  options: SandboxOptions,
  sending: SendOptions
): Promise<Script> {
  try {
    const route = routes.get(`${request.method} ${request.path}`)
    if (route === undefined) {
      throw new SandboxRefusal(404, `The sandbox has nothing at ${request.path}.`, { code: 'not_found' })
    }
    return await route(request, options, sending)
  } catch (error) {
    if (error instanceof SandboxRefusal) return error.toScript()
    throw error
  }
}
