/** Tools and tool choice; deprecated functions are converted to tools. */

import { offersFunctionsOnly } from '../../chat/legacy-functions.ts'
import { allowedToolName } from '../../chat/tool-choice.ts'
import { GatewayError } from '../../core/errors.ts'
import { camelKeys } from './camel-keys.ts'
import { Steps, functionSchema } from './schema.ts'
import type { FunctionDeclaration, Tool, ToolConfig } from './wire.ts'
import type { FunctionDefinition, ToolChoice } from '../../../schemas/tools.ts'
import type { ChatInput } from '../../chat/input.ts'

export interface ToolFields {
  readonly tools?: readonly Tool[]
  readonly toolConfig?: ToolConfig
}

/** Which tools may be called, and whether one must be. */
interface Choice {
  readonly mode: 'auto' | 'any' | 'none'
  readonly names?: readonly string[]
}

/**
 * Returns `tools` and `toolConfig` of a request; the caller's `tool_config` overrides `tool_choice`.
 *
 * @throws GatewayError `unsupported_parameter` for custom tools; `invalid_value` for names the provider
 *   rejects and for a choice of missing tools
 */
export function toolFields (request: ChatInput): ToolFields {
  const declarations = declarationsOf(request)
  const own = request.tool_config === undefined ? undefined : camelKeys(request.tool_config)
  if (declarations.length === 0) return own === undefined ? {} : { toolConfig: own }
  const legacy = offersFunctionsOnly(request)
  const choice = legacy ? legacyChoiceOf(request.function_call) : choiceOf(request.tool_choice)
  checkNames(choice, declarations, legacy ? 'function_call' : 'tool_choice')
  // Names may only be listed if a call is forced; otherwise the other tools are omitted.
  const only = choice.mode === 'auto' && choice.names !== undefined ? new Set(choice.names) : undefined
  const offered = only === undefined ? declarations : declarations.filter(({ name }) => only.has(name))
  const toolConfig = own ?? configOf(choice)
  return {
    tools: [{ functionDeclarations: offered }],
    ...toolConfig !== undefined && { toolConfig }
  }
}

function declarationsOf (request: ChatInput): FunctionDeclaration[] {
  const steps = new Steps()
  if (offersFunctionsOnly(request)) {
    return (request.functions ?? []).map((definition, index) =>
      declarationOf(definition, `functions[${index}]`, steps)
    )
  }
  return (request.tools ?? []).map((tool, index) => {
    if (tool.type === 'custom') {
      throw new GatewayError('unsupported_parameter', {
        message: 'Only function tools are supported.',
        param: `tools[${index}].type`
      })
    }
    return declarationOf(tool.function, `tools[${index}].function`, steps)
  })
}

function declarationOf (
  { name, description, parameters }: FunctionDefinition,
  param: string,
  steps: Steps
): FunctionDeclaration {
  if (!/^[A-Za-z_][\w.:-]{0,127}$/.test(name)) {
    throw new GatewayError('invalid_value', {
      message:
        'For this model, a function name must begin with a letter or an underscore, contain only letters, ' +
        'digits and _ . : -, and have at most 128 characters.',
      param: `${param}.name`
    })
  }
  const schema = functionSchema(parameters ?? {}, `${param}.parameters`, steps)
  return {
    name,
    ...description && { description },
    ...schema !== undefined && { parametersJsonSchema: schema }
  }
}

function choiceOf (choice: ToolChoice | undefined): Choice {
  if (choice === undefined) return { mode: 'auto' }
  if (typeof choice === 'string') return { mode: choice === 'required' ? 'any' : choice }
  if ('server_label' in choice) return { mode: 'any', names: [choice.name] }
  switch (choice.type) {
    case 'function': return { mode: 'any', names: [choice.function.name] }
    case 'tool': return { mode: 'any', names: [choice.name] }
    case 'allowed_tools': {
      const { mode, tools } = choice.allowed_tools
      const names = tools.map(tool => String(allowedToolName(tool)))
      return { mode: mode === 'required' ? 'any' : 'auto', names }
    }
    case 'custom': throw new GatewayError('unsupported_parameter', {
      message: 'Only function tools are supported.',
      param: 'tool_choice'
    })
    default: return { mode: choice.type }
  }
}

function legacyChoiceOf (choice: ChatInput['function_call']): Choice {
  if (choice === undefined || choice === 'auto') return { mode: 'auto' }
  if (choice === 'none') return { mode: 'none' }
  return { mode: 'any', names: [typeof choice === 'string' ? choice : choice.name] }
}

function checkNames (
  { names = [] }: Choice,
  declarations: readonly FunctionDeclaration[],
  param: string
): void {
  const declared = new Set(declarations.map(({ name }) => name))
  const missing = names.find(name => !declared.has(name))
  if (missing === undefined) return
  throw new GatewayError('invalid_value', {
    message: `There is no tool named ${JSON.stringify(missing)}.`,
    param
  })
}

function configOf ({ mode, names }: Choice): ToolConfig | undefined {
  if (mode === 'auto') return undefined
  if (mode === 'none') return { functionCallingConfig: { mode: 'NONE' } }
  return { functionCallingConfig: { mode: 'ANY', ...names !== undefined && { allowedFunctionNames: names } } }
}
