"""Where broken brokers are caught without a cluster: `python -m tests.defects.arms.ARM [--defect FILE] --seed N`.

Each prints one line of JSON: `found` is what was seen, null where nothing was; `tried` how much it took. Without a defect it is the sound
broker that is tried, and nothing may be found.
"""
