/**
 * `headgate route`: prints which models a chat call would use, in which order, and why. Sends no request.
 */

import { parseArgs } from 'node:util'
import { chatAttributes } from '../chat/model-settings.ts'
import { loadSettings } from '../config/read-settings.ts'
import { GatewayError } from '../core/errors.ts'
import { createLookupServices } from '../create-services.ts'
import { canServe, decide } from '../routing/decision.ts'
import { chooseRoutes } from '../routing/choose-routes.ts'
import { CommandError } from '../process/terminal.ts'
import type { Command } from './command.ts'
import { table } from './table.ts'
import { terminalLog } from './terminal-log.ts'
import { CallRecord } from '../core/record.ts'
import type { OwnedServices } from '../create-services.ts'
import type { RouteDecision } from '../../schemas/route-decision.ts'

export const route: Command = {
  usage: `Usage: headgate route MODEL... [--attributes NAME=NUMBER,...] [-c FILE] [--json]

Prints which models a chat call for MODEL... would use, in which order, and why. Sends no request, so
models that only a provider's own list contains are found only as PROVIDER/MODEL. The state of a running
gateway (open circuits, latencies) is not known here: to see it, send that gateway a call with the header
X-Headgate-Dry-Run: true.

  --attributes complexity=0.9,efficiency=0.4   requirements of the call, as in agent_attributes
  -c, --config FILE
  --json`,

  run: async (args, terminal) => {
    const { values: { config: file, json, attributes }, positionals: names } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        attributes: { type: 'string' },
        config: { type: 'string', short: 'c' },
        json: { type: 'boolean', default: false }
      }
    })
    if (names.length === 0) throw new CommandError('a model is required', { exitCode: 2 })
    const agent = attributes === undefined ? undefined : readAttributes(attributes)
    const settings = loadSettings({ ...terminal, file })
    const services = createLookupServices(settings, { log: terminalLog(terminal), discoverModels: false })
    try {
      const decision = decisionOn(names, agent, services)
      terminal.out(json ? JSON.stringify(decision, null, 2) : asTable(decision))
      return 0
    } finally {
      await services.close()
    }
  }
}

/** Decides for a key that may use everything. */
function decisionOn (
  model: string[], agent: Record<string, number> | undefined, services: OwnedServices
): RouteDecision {
  const record = new CallRecord('chat')
  const request = { model, ...agent !== undefined && { agent_attributes: agent } }
  try {
    const key = { id: 'cli', name: 'cli' }
    const { routes, skipped } = chooseRoutes({ request, headers: {}, key, record }, services, {
      attributes: chatAttributes
    })
    return decide({
      requested: record.request.requestedModel ?? '',
      routes,
      skipped,
      routingState: services.routingState,
      keyId: key.id,
      canServe: canServe(services.providers, 'chat')
    })
  } catch (error) {
    if (error instanceof GatewayError) throw new CommandError(error.message, { cause: error })
    throw error
  }
}

function readAttributes (text: string): Record<string, number> {
  return Object.fromEntries(
    text.split(',').map(part => {
      const [, name = '', amount = ''] = /^\s*([^\s=]+)=([\d.]+)\s*$/.exec(part) ?? []
      const value = amount === '' ? NaN : Number(amount)
      if (value >= 0 && value <= 1) return [name, value]
      throw new CommandError(
        `--attributes must be names with numbers from 0 to 1, such as speed=0.5, not "${part.trim()}"`,
        { exitCode: 2 }
      )
    })
  )
}

function asTable ({ candidates }: RouteDecision): string {
  return table([
    ['RANK', 'MODEL', 'STATE', 'REASON'],
    ...candidates.map(({ rank, model, state, reason }) => [String(rank), model, state, reason])
  ])
}
