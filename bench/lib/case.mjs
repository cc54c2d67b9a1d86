/*
 * Runs one case in this process: node [flags] case.mjs <suite> <case>. Prints the figures as JSON. Each round of each case has
 * a process of its own, so no case meets code that another has warmed up or slowed down.
 */
const [name, id] = process.argv.slice(2)
const { default: suite } = await import(`../suites/${name}.mjs`)
const found = suite.cases.find((each) => each.id === id)
if (found === undefined) throw new Error(`no case ${id} in ${name}`)
const metrics = await found.measure()
process.stdout.write(JSON.stringify(metrics), () => process.exit(0))
