/**
 * Returns the command that runs Node.js as a user would. tap puts its loaders into the environment of every
 * process a test starts; they double the start time, and the compiler cannot run with them. `env` removes
 * them and becomes the process, so signals and process id are those of Node.js.
 */
export function plainNode (...args: readonly string[]): readonly [command: string, args: readonly string[]] {
  return plainCommand(process.execPath, ...args)
}

/** Returns the same for another program, and for every Node.js that it starts. */
export function plainCommand (
  ...command: readonly string[]
): readonly [command: string, args: readonly string[]] {
  return ['env', ['-u', 'NODE_OPTIONS', ...command]]
}
