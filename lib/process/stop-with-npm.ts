/**
 * Stops the gateway together with the `npm start` or `npx headgate start` that runs it.
 *
 * npm passes a signal to the shell that runs the command, and many shells exit without passing it on. The
 * gateway would continue without a parent.
 *
 * @param env `npm_lifecycle_event` is set by npm; without it nothing is watched
 */
export function stopWithNpm (env: Readonly<Record<string, string | undefined>>, everyMs = 250): void {
  if (env['npm_lifecycle_event'] === undefined) return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, everyMs)
  timer.unref()
}
