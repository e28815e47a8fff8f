/** Returns whether a process of this machine is running. */
export function isProcessAlive (pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // It is running, and belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
