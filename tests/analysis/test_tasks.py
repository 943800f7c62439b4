from analysis.spark import SparkOptions
from analysis.tasks import divide, room_in, tasks_for


def test_few_rows_are_one_task_some_are_one_a_core_and_many_no_more_than_keep_the_cores_busy():
    assert tasks_for(1000, cores=2, local=True) == 1
    assert tasks_for(100_000, cores=2, local=True) == 2
    assert tasks_for(10**9, cores=2, local=True) == 8
    assert tasks_for(10**9, cores=2, local=False) > 1000


def test_buckets_are_divided_into_tasks_with_about_as_many_rows_each():
    assert divide({-1: 5, 0: 10}, 1) == [(-1, 0)]
    assert divide({0: 90, 1: 30, 2: 30, 3: 30}, 2) == [(0,), (1, 2, 3)]
    assert divide({0: 1, 1: 1}, 5) == [(0,), (1,)]
    assert divide({}, 2) == []


def test_a_task_that_runs_alone_has_the_memory_of_all():
    room = room_in(SparkOptions("local[4]", 8 * 1024))
    assert 3 * room.shared < room.alone < 6 * room.shared
    assert room_in(SparkOptions("local[1]", 8 * 1024)).shared == room_in(SparkOptions("local[1]", 8 * 1024)).alone


def test_two_gigabytes_hold_a_partition_of_a_sixty_fourth_of_a_hundred_million_rows():
    assert room_in(SparkOptions("local[2]", 2 * 1024)).alone > 100_000_000 // 64
